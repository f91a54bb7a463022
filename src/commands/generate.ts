import { Option, type Command } from 'commander'
import type { Context } from '../context.ts'
import { commandInputs, conflictingInputs } from '../contract/command-inputs.ts'
import { flagsOf } from '../contract/field.ts'
import { generateContentEndpoint as endpoint } from '../contract/generate-content.ts'
import { UsageError } from '../errors.ts'
import { listOf } from '../json.ts'
import { addMessage, addSafety, contentRequest } from '../operations/content-request.ts'
import type { Session } from '../operations/conversation/conversation-session.ts'
import { appendEntries } from '../operations/operation.ts'
import { functionResponses } from '../operations/tool-outputs.ts'
import { allInputs } from '../problems.ts'
import { collect, type Example } from './shared/options/common-options.ts'
import {
  checkRequest,
  finishedCall,
  nameModel,
  startRequest,
  type Draft,
  type ParsedCall,
  type RequestShape,
} from './shared/request/build-request.ts'
import { inputOption } from './shared/request/contract-flags.ts'
import { underFlag } from './shared/request/flag-values.ts'
import { readTextPrompt } from './shared/request/text-prompt.ts'
import { readToolOutput } from './shared/request/tool-flag.ts'
import {
  conversationConflicts,
  readTextParts,
  registerText,
  sendText,
  type TextOptions,
} from './shared/text/text-command.ts'

interface GenerateOptions extends TextOptions {
  safety?: string[]
}

const shape: RequestShape = {
  endpoint,
  modelKind: 'text',
  flags: flagsOf(endpoint.fields),
  conflicts: [...conflictingInputs.generate, ['history', 'contents'], ...conversationConflicts('contents')],
  content: { fields: ['contents'], flags: ['contents', 'history'] },
  otherForms: {
    contents: 'history',
    tools: 'tool',
    'safety-settings': 'safety',
    'system-instruction': 'system',
  },
}

export const generateExamples: readonly Example[] = [
  ['modelgate generate -m MODEL "Name three rivers"'],
  ['modelgate generate -m MODEL -a photo.jpg "What is this?"'],
  ['cat notes.txt | modelgate generate -m MODEL "Summarise"'],
  ['modelgate generate -m MODEL --schema person.json "Invent a person"'],
  ['modelgate generate -c "And then?"', 'continue the last exchange'],
  ['modelgate generate -m MODEL --history chat.json "And then?"'],
  ['modelgate generate -m MODEL -x "A script that renames photos" > rename.sh', 'the code alone'],
]

/** Specification, endpoint 1. */
export function registerGenerate(command: Command, context: Context, send = sendText): void {
  const safety = 'safety setting, such as harassment=BLOCK_NONE (repeatable)'
  registerText<GenerateOptions>(command, context, 'generate', {
    argument: '[prompt...]',
    examples: generateExamples,
    shape,
    shown:
      'system attach continue schema tool extract temperature max-output-tokens thinking-level stop-sequences seed aspect-ratio',
    options: [
      inputOption(commandInputs.generate.system),
      new Option(
        '--history <json>',
        'earlier messages: chat messages or contents as JSON, @file, @- or a file name',
      ),
      new Option(
        '--tool-output <call=json>',
        'what a function that --history calls returned: NAME=JSON or ID=JSON, =@file, =@- (repeatable)',
      ).argParser(collect),
      new Option('--safety <category=threshold>', safety).argParser(collect),
    ],
    build: buildGenerateRequest,
    send,
  })
}

/** @param session the conversation that it continues, where no flag names it */
export async function buildGenerateRequest(call: ParsedCall<GenerateOptions>, session?: Session) {
  const draft = await startRequest(call, shape)
  const { body, problems } = draft
  const { talk, answerSchema, attachments } = await readTextParts(draft, 'generate', session)
  const { safety } = call.options
  if (safety !== undefined) {
    const settings = () => allInputs(safety.map(async (text) => readSafety(text)))
    await problems.check(async () => addSafety(body, await settings()))
  }
  await problems.check(() => addToolOutputs(draft, talk?.known))
  const prompt = await readTextPrompt(draft, talk?.awaitsAnswer)
  await problems.check(() => {
    addMessage(body, attachments, prompt)
    talk?.complete(attachments)
  })
  const model = await nameModel(draft, talk?.model)
  const warnings = await checkRequest(draft, model)
  const fields = { model: model?.id ?? 'model', body, answerSchema, warnings, talk }
  const request = await problems.check(() => contentRequest(fields))
  return { call: finishedCall(draft), request: request! }
}

async function addToolOutputs(
  { context, options, body, problems }: Draft<GenerateOptions>,
  known: readonly unknown[] = [],
): Promise<void> {
  const { toolOutput } = options
  if (toolOutput === undefined) return
  const outputs = await allInputs(toolOutput.map((text) => readToolOutput(context, '--tool-output', text)))
  // What could not be read may hold the calls.
  if (problems.any) return
  const contents = [...known, ...listOf(body['contents'])]
  const message = underFlag('--tool-output', () => functionResponses(contents, outputs))
  appendEntries(body, 'contents', [message])
}

/** The category may be given without its prefix and in lower case. */
function readSafety(text: string) {
  const words = text.split('=').map((word) => word.trim().toUpperCase().replaceAll('-', '_'))
  const [category = '', threshold = ''] = words
  if (category === '' || threshold === '' || words.length > 2) {
    throw new UsageError(
      `--safety ${JSON.stringify(text)} must be category=threshold, such as harassment=BLOCK_NONE.`,
    )
  }
  const prefix = category.startsWith('HARM_CATEGORY_') ? '' : 'HARM_CATEGORY_'
  return { category: prefix + category, threshold }
}
