import { Option, type Command } from 'commander'
import type { Context } from '../context.ts'
import { generateContentEndpoint as endpoint } from '../contract/generate-content.ts'
import { createContentDecoder } from '../gateway/generate-content/decoder.ts'
import { pathSegment } from '../gateway/url.ts'
import { addMessage, readHistory } from './generate/contents.ts'
import { readSafety } from './generate/safety.ts'
import { readContentTool } from './generate/tools.ts'
import { readAttachment } from './shared/attachments.ts'
import { collect, type CommonOptions } from './shared/common-options.ts'
import { addContractFlags, applyContractFlags, flagsOf } from './shared/contract-flags.ts'
import { parseJsonFlag } from './shared/json-value.ts'
import { readSettings } from './shared/open-gateway.ts'
import { createProblemList } from './shared/problem-list.ts'
import { applySets, setField, startBody, validateBody, type Body } from './shared/request-body.ts'
import { sendText, type TextRequest } from './shared/send-text.ts'
import { chooseTextModel } from './shared/text-model.ts'
import { readTextPrompt } from './shared/text-prompt.ts'
import { parseTextFlag } from './shared/text-value.ts'
import { allInputs } from './shared/throw-problems.ts'

interface GenerateOptions extends CommonOptions {
  system?: string
  attach?: string[]
  history?: string
  schema?: string
  safety?: string[]
  tool?: string[]
}

const contractFlags = flagsOf(endpoint.fields)

const examples = `
Examples:
  $ modelgate generate -m MODEL "Name three rivers"
  $ modelgate generate -m MODEL -a photo.jpg "What is this?"
  $ cat notes.txt | modelgate generate -m MODEL "Summarise"
  $ modelgate generate -m MODEL --schema person.json --json "Invent a person"
  $ modelgate generate -m MODEL --history chat.json --system "Be brief" "And then?"
`

/** `modelgate generate`: streamed text, content-generation style (specification, endpoint 1). */
export function registerGenerate(command: Command, context: Context, send = sendText): void {
  command
    .argument('[prompt...]', 'what to ask; "-" or a pipe reads standard input, @file a file')
    .addHelpText('after', examples)
    .option('-s, --system <text>', 'system instruction as text, or @file')
    .option('-a, --attach <file|url>', 'attach a file, a URL, or - for standard input (repeatable)', collect)
    .option('--history <json>', 'earlier messages: JSON, @file or @-, the contents of a conversation')
    .option('--schema <json>', 'JSON Schema of the answer: JSON, @file or a file name; the answer is checked')
    .option(
      '--safety <category=threshold>',
      'safety setting, such as harassment=BLOCK_NONE (repeatable)',
      collect,
    )
    .addOption(
      new Option(
        '--tool <tool>',
        'google_search, code_execution, url_context, or a function: @file, JSON (repeatable)',
      ).argParser(collect),
    )
    .action(async (words: string[], _: unknown, self: Command) => {
      const options = self.optsWithGlobals<GenerateOptions>()
      const settings = await readSettings(context, options)
      await send(context, options, settings, await buildRequest(context, options, settings, words))
    })
  addContractFlags(command, contractFlags)
}

async function buildRequest(
  context: Context,
  options: GenerateOptions,
  settings: Awaited<ReturnType<typeof readSettings>>,
  words: readonly string[],
): Promise<TextRequest> {
  const problems = createProblemList()
  const { step } = problems
  const body: Body = (await step(() => startBody(context, options))) ?? {}
  await applyContractFlags(context, contractFlags, { ...options }, body, problems)
  await step(() => applyShortFlags(context, options, body))
  const schema = await step(() => applySchema(context, options, body))
  const attachments = await step(() =>
    allInputs((options.attach ?? []).map((name) => readAttachment(context, name))),
  )
  if (!problems.any || words.length > 0) {
    const prompt = await step(() => readTextPrompt(context, words, options, body['contents'] !== undefined))
    addMessage(body, attachments ?? [], prompt)
  }
  await step(() => applySets(options, body))
  if (body['contents'] !== undefined || !problems.any) {
    await step(() => validateBody(endpoint, body, contractFlags, options))
  }
  const model = await step(() => chooseTextModel(context, options, settings))
  const segment = await step(() => pathSegment((model ?? 'model').replace(/^models\//, ''), 'the model'))
  problems.throwAny()
  return {
    command: 'generate',
    model: model!,
    path: endpoint.path.replace('{model}', segment!),
    // Without it the reply is one JSON array (wire facts, section 1); the gateway may ignore it.
    query: { alt: 'sse' },
    body,
    streamed: true,
    answerSchema: schema,
    warnings: [],
    createDecoder: createContentDecoder,
  }
}

/** The flags that stand for more than one field, or for one in another form. */
async function applyShortFlags(context: Context, options: GenerateOptions, body: Body): Promise<void> {
  const { system, history, safety, tool } = options
  if (system !== undefined) {
    setField(body, ['systemInstruction'], {
      parts: [{ text: await parseTextFlag(context, '--system', system) }],
    })
  }
  if (history !== undefined) setField(body, ['contents'], await readHistory(context, history))
  if (safety !== undefined) setField(body, ['safetySettings'], safety.map(readSafety))
  if (tool !== undefined) {
    const tools = await allInputs(tool.map((text) => readContentTool(context, text)))
    body['tools'] = [...(Array.isArray(body['tools']) ? (body['tools'] as unknown[]) : []), ...tools]
  }
}

async function applySchema(context: Context, { schema }: GenerateOptions, body: Body): Promise<unknown> {
  if (schema === undefined) return undefined
  const value = await parseJsonFlag(context, '--schema', /^\s*[[{@]/.test(schema) ? schema : `@${schema}`)
  setField(body, ['generationConfig', 'responseMimeType'], 'application/json')
  setField(body, ['generationConfig', 'responseJsonSchema'], value)
  return value
}
