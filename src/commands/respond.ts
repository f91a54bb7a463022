import { Option, type Command } from 'commander'
import type { Settings } from '../config/settings.ts'
import type { Context } from '../context.ts'
import { responsesEndpoint as endpoint } from '../contract/responses.ts'
import { createResponseDecoder } from '../gateway/responses/decoder.ts'
import { addInput, applyAnswerSchema, readResponseTool, responseToolForms } from './respond/body.ts'
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

interface RespondOptions extends TextOptions {
  tool?: string[]
  instructions?: string
}

/** The model has the common flag -m. */
const contractFlags = flagsOf(endpoint.fields)
  .filter(({ name }) => name !== 'model')
  // The gateway's own default is another one; this command always says which it wants.
  .map((flag) => (flag.name === 'stream' ? { ...flag, default: 'true, false with --background' } : flag))

const rivals: readonly ConflictingFlags[] = [['--schema', '--text-format']]

export const respondExamples: readonly Example[] = [
  ['modelgate respond -m MODEL "Name three rivers"'],
  ['git diff | modelgate respond -m MODEL "Review this"'],
  ['modelgate respond -m MODEL --tool web_search "News of today"'],
  ['modelgate respond -m MODEL --schema person.json "Invent a person"'],
  ['modelgate respond -m MODEL --previous-response-id resp_1 "And then?"'],
]

/** `modelgate respond`: text, response-object style, streamed by default (specification, endpoint 2). */
export function registerRespond(command: Command, context: Context, send = sendText): void {
  addExamples(command, context, respondExamples)
  explainCommon(command, strictMeanings.text)
  command
    .argument('[input...]', 'what to ask; "-" or a pipe reads standard input, @file a file')
    .option('-a, --attach <file|url>', 'attach a file, a URL, or - for standard input (repeatable)', collect)
    .option('--schema <json>', 'JSON Schema of the answer: JSON, @file or a file name; the answer is checked')
    .addOption(new Option('--tool <tool>', `${responseToolForms} (repeatable)`).argParser(collect))
    .action(async (words: string[], _: unknown, self: Command) => {
      const options = self.optsWithGlobals<RespondOptions>()
      const { settings, request } = await buildRequest(context, options, self.opts(), words)
      await send(context, options, settings, request)
    })
  addContractFlags(command, contractFlags)
}

async function buildRequest(
  context: Context,
  options: RespondOptions,
  own: Readonly<Record<string, unknown>>,
  words: readonly string[],
): Promise<{ settings: Settings; request: TextRequest }> {
  const problems = createProblemList()
  const { step } = problems
  const begun = await beginTextRequest(context, options, own, textFlags, problems)
  const { settings, body, answerSchema, attachments } = begun
  // Where one of these could not be read, the input was probably in it.
  const lost = problems.any && [options.body, own['input'], own['prompt']].some(isGiven)
  const hasContent = lost || ['input', 'prompt'].some((name) => isGiven(body[name]) || isSet(options, name))
  const hasModel = isGiven(settings?.textModel.value ?? body['model']) || isSet(options, 'model')
  const place = { settings, hasContent, hasModel }
  const prompt = await takePrompt(context, words, options, place, problems)
  await step(() => addInput(body, attachments, prompt))
  if (options.model !== undefined) body['model'] = options.model
  await applySets(options, body, problems)
  body['model'] ||= await step(() => chooseModel('text', context, options, settings, problems))
  // Words are shown as they come unless a whole reply is asked for; a job in the background has none to show.
  if (body['stream'] === undefined) body['stream'] = body['background'] !== true
  await step(() => validateBody(endpoint, body, contractFlags, options, problems.any))
  problems.throwAny()
  const request: TextRequest = {
    command: 'respond',
    model: String(body['model']),
    path: endpoint.path,
    body,
    streamed: body['stream'] === true,
    answerSchema,
    warnings: deprecated(body),
    createDecoder: createResponseDecoder,
  }
  return { settings: settings!, request }
}

const textFlags = { contractFlags, rivals, applyShortFlags, applyAnswerSchema }

const isGiven = (value: unknown) => value !== undefined

/** The flags that stand for more than one field, or for one in another form. */
async function applyShortFlags(
  context: Context,
  { instructions, tool = [] }: RespondOptions,
  body: Body,
  { step }: ProblemList,
): Promise<void> {
  // The field's own flag takes the word null; here the text may come from a file as well.
  if (instructions !== undefined && instructions !== 'null') {
    await step(
      async () => (body['instructions'] = await parseTextFlag(context, '--instructions', instructions)),
    )
  }
  if (tool.length > 0) {
    const tools = () => allInputs(tool.map((text) => readResponseTool(context, text)))
    await step(async () => appendEntries(body, 'tools', await tools()))
  }
}

function deprecated(body: Body): string[] {
  return Object.entries(endpoint.fields).flatMap(([name, field]) =>
    field.deprecated !== undefined && body[name] !== undefined
      ? [`--${name} is deprecated; use ${field.deprecated}.`]
      : [],
  )
}
