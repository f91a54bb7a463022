import { Option, type Command } from 'commander'
import type { Context } from '../context.ts'
import { responsesEndpoint as endpoint } from '../contract/responses.ts'
import { createResponseDecoder } from '../gateway/responses/decoder.ts'
import { addInput } from './respond/input.ts'
import { applyAnswerSchema } from './respond/schema.ts'
import { readResponseTool } from './respond/tools.ts'
import { readAttachment } from './shared/attachments.ts'
import { collect, type CommonOptions } from './shared/common-options.ts'
import { addContractFlags, applyContractFlags, flagsOf } from './shared/contract-flags.ts'
import { readSettings } from './shared/open-gateway.ts'
import { createProblemList } from './shared/problem-list.ts'
import { applySets, startBody, validateBody, type Body } from './shared/request-body.ts'
import { sendText, type TextRequest } from './shared/send-text.ts'
import { chooseTextModel } from './shared/text-model.ts'
import { readTextPrompt } from './shared/text-prompt.ts'
import { parseTextFlag } from './shared/text-value.ts'
import { allInputs } from './shared/throw-problems.ts'

interface RespondOptions extends CommonOptions {
  attach?: string[]
  schema?: string
  tool?: string[]
  instructions?: string
}

/** The model has the common flag -m. */
const contractFlags = flagsOf(endpoint.fields).filter(({ name }) => name !== 'model')

const examples = `
Examples:
  $ modelgate respond -m MODEL "Name three rivers"
  $ git diff | modelgate respond -m MODEL "Review this"
  $ modelgate respond -m MODEL --tool web_search --json "News of today" | jq .citations
  $ modelgate respond -m MODEL --schema person.json "Invent a person"
  $ modelgate respond -m MODEL --previous-response-id resp_1 "And then?"
`

/** `modelgate respond`: text, response-object style, streamed by default (specification, endpoint 2). */
export function registerRespond(command: Command, context: Context, send = sendText): void {
  command
    .argument('[input...]', 'what to ask; "-" or a pipe reads standard input, @file a file')
    .addHelpText('after', examples)
    .option('-a, --attach <file|url>', 'attach a file, a URL, or - for standard input (repeatable)', collect)
    .option('--schema <json>', 'JSON Schema of the answer: JSON, @file or a file name; the answer is checked')
    .addOption(
      new Option(
        '--tool <tool>',
        'web_search, code_interpreter, image_generation, file_search:ID, mcp:LABEL=URL, or @file, JSON (repeatable)',
      ).argParser(collect),
    )
    .action(async (words: string[], _: unknown, self: Command) => {
      const options = self.optsWithGlobals<RespondOptions>()
      const settings = await readSettings(context, options)
      await send(context, options, settings, await buildRequest(context, options, settings, words))
    })
  addContractFlags(command, contractFlags)
}

async function buildRequest(
  context: Context,
  options: RespondOptions,
  settings: Awaited<ReturnType<typeof readSettings>>,
  words: readonly string[],
): Promise<TextRequest> {
  const problems = createProblemList()
  const { step } = problems
  const body: Body = (await step(() => startBody(context, options))) ?? {}
  await applyContractFlags(context, contractFlags, { ...options }, body, problems)
  await step(() => applyTexts(context, options, body))
  await step(() => applyTools(context, options, body))
  const schema = await step(() => applyAnswerSchema(context, options.schema, body))
  const attachments = await step(() =>
    allInputs((options.attach ?? []).map((name) => readAttachment(context, name))),
  )
  if (!problems.any || words.length > 0) {
    const hasInput = body['input'] !== undefined || body['prompt'] !== undefined
    const prompt = await step(() => readTextPrompt(context, words, options, hasInput))
    await step(() => addInput(body, attachments ?? [], prompt))
  }
  const model = await step(() => chooseTextModel(context, options, settings, body['model']))
  if (model !== undefined) body['model'] = model
  // Words are shown as they come unless a whole reply is asked for; a job in the background has none to show.
  body['stream'] ??= body['background'] !== true
  await step(() => applySets(options, body))
  await step(() => validateBody(endpoint, body, contractFlags, options))
  problems.throwAny()
  return {
    command: 'respond',
    model: model!,
    path: endpoint.path,
    body,
    streamed: body['stream'] === true,
    answerSchema: schema,
    warnings: deprecated(body),
    createDecoder: createResponseDecoder,
  }
}

async function applyTexts(context: Context, { instructions }: RespondOptions, body: Body): Promise<void> {
  if (instructions !== undefined) {
    body['instructions'] = await parseTextFlag(context, '--instructions', instructions)
  }
}

async function applyTools(context: Context, { tool }: RespondOptions, body: Body): Promise<void> {
  if (tool === undefined) return
  const tools = await allInputs(tool.map((text) => readResponseTool(context, text)))
  body['tools'] = [...(Array.isArray(body['tools']) ? (body['tools'] as unknown[]) : []), ...tools]
}

function deprecated(body: Body): string[] {
  return Object.entries(endpoint.fields).flatMap(([name, field]) =>
    field.deprecated !== undefined && body[name] !== undefined
      ? [`--${name} is deprecated; use ${field.deprecated}.`]
      : [],
  )
}
