import { writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { GenerationError } from '../../errors.ts'
import type { TextDocument } from '../../events/text.ts'
import { writeError } from '../../files/file-error.ts'
import { openRescueFile } from '../../files/atomic-file.ts'
import { renameFile } from '../../files/write-target.ts'
import type { TextDecoder } from '../../gateway/stream-text.ts'
import { contentRequest } from '../../operations/content-request.ts'
import { generateText, type TextRequest } from '../../operations/generate-text.ts'
import type { Body } from '../../operations/operation.ts'
import { responseRequest } from '../../operations/response-request.ts'
import type { OutputFacts } from '../lock/lock-block.ts'
import { listenerOf, mediaFacts, textFacts, wholeResult, type Made, type TaskRun } from './task.ts'

/** Has a text, or the pictures of an answer, generated. A text that does not match its schema is a result, too. */
export async function makeText(run: TaskRun): Promise<Made> {
  const { task, call } = run
  const { instance } = task
  const request = textRequest(instance, (await task.request()).body)
  let decoder: TextDecoder | undefined
  let text = ''
  const listener = listenerOf((event) => {
    if (event.type === 'text-delta' && event.index === 0) text += event.text
  })
  const createDecoder: TextRequest['createDecoder'] = (options) => (decoder = request.createDecoder(options))
  const outcome = await generateText(
    { ...call, listener },
    { ...request, createDecoder },
    { folder: '.', keepsResponse: false, strict: true },
  )
  const document = wholeResult(task, outcome)
  const facts = { requestId: document.request_id ?? undefined, billed: 'yes' } as const
  if (document.tool_calls.length > 0) {
    const message = 'The answer calls a function, and a run cannot answer it.'
    const hint = 'Leave the functions out of "tools".'
    throw new GenerationError('nothing_generated', message, { ...facts, hint })
  }
  const isPicture = instance.lane === 'image'
  if (isPicture && document.files.length === 0) {
    const said = text.trim().slice(0, 200)
    const message = `The answer has no picture${said === '' ? '.' : `. It says: ${said}`}`
    throw new GenerationError('reply_not_understood', message, facts)
  }
  if (!isPicture && text === '')
    throw new GenerationError('nothing_generated', 'The answer has no text.', facts)
  return {
    outputs: isPicture ? await namePictures(run, document.files) : [await saveText(run, text)],
    ...(isPicture && text !== '' && { text: text.slice(0, maxKeptText) }),
    model: decoder?.result().model ?? document.model,
    document,
  }
}

/** Of a text beside a picture: the record of a result is one small file. */
const maxKeptText = 100_000

async function namePictures({ task: { folder }, call: { context } }: TaskRun, files: TextDocument['files']) {
  const names = files.map(({ path }, at) => `${at + 1}${extname(path)}`)
  for (const [at, { path }] of files.entries()) {
    await renameFile(context, join(folder, path), join(folder, names[at]!))
  }
  return await Promise.all(names.map((name) => mediaFacts(context, name)))
}

/** It need not survive a power failure here: the store sees to that. */
async function saveText({ task: { instance, folder }, call }: TaskRun, text: string): Promise<OutputFacts> {
  // A text compares the same on every system, whatever a checkout makes of the ends of its lines.
  const content = Buffer.from(text.replaceAll('\r\n', '\n'))
  const facts = textFacts(instance, content)
  const name = facts.path
  try {
    // At once, which is faster than in another thread.
    writeFileSync(join(folder, name), content, { mode: 0o600 })
  } catch (error) {
    const reason = writeError(error, join(folder, name))
    const file = await openRescueFile(call.context, call.rescueFolder, name, reason)
    await file.write(content)
    throw (await file.commit()).rescued ?? reason
  }
  return facts
}

function textRequest({ command, model }: TaskRun['task']['instance'], body: Body): TextRequest {
  const common = { answerSchema: undefined, warnings: [] }
  if (command === 'generate') return contentRequest({ ...common, model: model ?? '', body })
  // A long answer that is streamed shows progress.
  return responseRequest({ ...common, model, body: { ...body, stream: true } })
}
