import { Option, type Command } from 'commander'
import type { Settings } from '../config/settings.ts'
import type { Context } from '../context.ts'
import { generateContentEndpoint as endpoint } from '../contract/generate-content.ts'
import { createContentDecoder } from '../gateway/generate-content/decoder.ts'
import { modelSegment } from '../gateway/url.ts'
import {
  addMessage,
  readHistory,
  addSafety,
  readSafety,
  applyAnswerSchema,
  contentToolForms,
  readContentTool,
} from './generate/body.ts'
import { beginTextRequest, takePrompt, type TextOptions } from './shared/begin-text-request.ts'
import { explainCommon, strictMeanings, collect } from './shared/common-options.ts'
import { addExamples, type Example } from './shared/help-layout.ts'
import { addContractFlags, flagsOf, type ConflictingFlags } from './shared/contract-flags.ts'
import { createProblemList, type ProblemList, allInputs } from './shared/problem-list.ts'
import { appendEntries, applySets, isSet, type Body } from './shared/request-body.ts'
import { sendText, type TextRequest } from './shared/send-text.ts'
import { chooseModel } from './shared/choose-model.ts'
import { parseTextFlag } from './shared/flag-value.ts'
import { validateBody } from './shared/validate-body.ts'

interface GenerateOptions extends TextOptions {
  system?: string
  history?: string
  safety?: string[]
  tool?: string[]
}

const contractFlags = flagsOf(endpoint.fields)

const rivals: readonly ConflictingFlags[] = [
  ['--system', '--system-instruction'],
  ['--history', '--contents'],
  ['--schema', '--response-schema'],
  ['--schema', '--response-json-schema'],
  ['--schema', '--response-mime-type'],
]

export const generateExamples: readonly Example[] = [
  ['modelgate generate -m MODEL "Name three rivers"'],
  ['modelgate generate -m MODEL -a photo.jpg "What is this?"'],
  ['cat notes.txt | modelgate generate -m MODEL "Summarise"'],
  ['modelgate generate -m MODEL --schema person.json "Invent a person"'],
  ['modelgate generate -m MODEL --history chat.json "And then?"'],
]

/** `modelgate generate`: streamed text, content-generation style (specification, endpoint 1). */
export function registerGenerate(command: Command, context: Context, send = sendText): void {
  addExamples(command, context, generateExamples)
  explainCommon(command, strictMeanings.text)
  command
    .argument('[prompt...]', 'what to ask; "-" or a pipe reads standard input, @file a file')
    .option('-s, --system <text>', 'system instruction as text, or @file')
    .option('-a, --attach <file|url>', 'attach a file, a URL, or - for standard input (repeatable)', collect)
    .option(
      '--history <json>',
      'earlier messages, the contents of a conversation: JSON, @file, @- or a file name',
    )
    .option('--schema <json>', 'JSON Schema of the answer: JSON, @file or a file name; the answer is checked')
    .option(
      '--safety <category=threshold>',
      'safety setting, such as harassment=BLOCK_NONE (repeatable)',
      collect,
    )
    .addOption(new Option('--tool <tool>', `${contentToolForms} (repeatable)`).argParser(collect))
    .action(async (words: string[], _: unknown, self: Command) => {
      const options = self.optsWithGlobals<GenerateOptions>()
      const { settings, request } = await buildRequest(context, options, self.opts(), words)
      await send(context, options, settings, request)
    })
  addContractFlags(command, contractFlags)
}

async function buildRequest(
  context: Context,
  options: GenerateOptions,
  own: Readonly<Record<string, unknown>>,
  words: readonly string[],
): Promise<{ settings: Settings; request: TextRequest }> {
  const problems = createProblemList()
  const { step } = problems
  const begun = await beginTextRequest(context, options, own, textFlags, problems)
  const { settings, body, answerSchema, attachments } = begun
  // Where one of these could not be read, the messages were probably in it.
  const lost = problems.any && [options.body, options.history, own['contents']].some(isGiven)
  const hasContent = lost || isGiven(body['contents']) || isSet(options, 'contents')
  const hasModel = settings?.textModel.value !== undefined
  const place = { settings, hasContent, hasModel }
  const prompt = await takePrompt(context, words, options, place, problems)
  addMessage(body, attachments, prompt)
  await applySets(options, body, problems)
  await step(() => validateBody(endpoint, body, contractFlags, options, problems.any))
  const model = await step(() => chooseModel('text', context, options, settings, problems))
  const segment = await step(() => modelSegment(model ?? 'model'))
  problems.throwAny()
  const request: TextRequest = {
    command: 'generate',
    model: model!,
    path: endpoint.path.replace('{model}', segment!),
    // Without it the reply is one JSON array (wire notes, section 1); the gateway may ignore it.
    query: { alt: 'sse' },
    body,
    streamed: true,
    answerSchema,
    warnings: [],
    createDecoder: createContentDecoder,
  }
  return { settings: settings!, request }
}

const textFlags = { contractFlags, rivals, applyShortFlags, applyAnswerSchema }

const isGiven = (value: unknown) => value !== undefined

/** The flags that stand for more than one field, or for one in another form. */
async function applyShortFlags(
  context: Context,
  { system, history, safety = [], tool = [] }: GenerateOptions,
  body: Body,
  { step }: ProblemList,
): Promise<void> {
  if (system !== undefined) {
    await step(async () => {
      const text = await parseTextFlag(context, '--system', system)
      body['systemInstruction'] = { parts: [{ text }] }
    })
  }
  if (history !== undefined) {
    await step(async () => (body['contents'] = await readHistory(context, history)))
  }
  if (safety.length > 0) {
    await step(async () => addSafety(body, await allInputs(safety.map(async (text) => readSafety(text)))))
  }
  if (tool.length > 0) {
    const tools = () => allInputs(tool.map((text) => readContentTool(context, text)))
    await step(async () => appendEntries(body, 'tools', await tools()))
  }
}
