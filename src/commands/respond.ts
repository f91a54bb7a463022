import { Option, type Command } from 'commander'
import type { Context } from '../context.ts'
import { commandInputs, conflictingInputs } from '../contract/command-inputs.ts'
import { flagsOf } from '../contract/field-flags.ts'
import { responsesEndpoint as endpoint } from '../contract/responses.ts'
import type { Session } from '../operations/conversation/conversation-session.ts'
import { appendEntries, type Body } from '../operations/operation.ts'
import { addInput, responseRequest, schemaFormat } from '../operations/response-request.ts'
import { approvalItems, toolOutputItems } from '../operations/tool-outputs.ts'
import {
  checkRequest,
  nameModel,
  startRequest,
  type CommandCall,
  type Draft,
} from './shared/request/build-request.ts'
import {
  addShared,
  allShared,
  collect,
  strictMeanings,
  suggestWords,
} from './shared/options/common-options.ts'
import {
  addContractFlags,
  conflictingFlags,
  inputOption,
  type ConflictingFlags,
} from './shared/request/contract-flags.ts'
import type { ConversationOptions } from './shared/text/conversation.ts'
import { isSet, parseTextFlag, setField, underFlag } from './shared/request/request-body.ts'
import { readTextPrompt } from './shared/request/text-prompt.ts'
import { addExamples, showFirst, type Example } from './shared/help/help-layout.ts'
import { allInputs } from '../problems.ts'
import {
  addTextOutputOptions,
  applyHistory,
  attachmentPaths,
  continued,
  continueOption,
  conversationConflicts,
  conversationFileOption,
  readAnswerSchema,
  readAttachments,
  sendText,
  takeLanguage,
  type TextOptions,
} from './shared/text/text-command.ts'
import {
  readApproval,
  readResponseTool,
  readToolOutput,
  responseToolForms,
  responseToolNames,
} from './shared/request/tool-flag.ts'

interface RespondOptions extends TextOptions, ConversationOptions {
  tool?: string[]
  instructions?: string
  system?: string
  history?: string
  toolOutput?: string[]
  customToolOutput?: string[]
  approve?: string[]
  deny?: string[]
}

/** The model has the common flag -m. */
const flags = flagsOf(endpoint.fields)
  .filter(({ name }) => name !== 'model')
  // The gateway's own default is another one; this command always says which it wants.
  .map((flag) => (flag.name === 'stream' ? { ...flag, default: 'true, false with --background' } : flag))

const { attach, schema } = commandInputs.respond

const conflicts: readonly ConflictingFlags[] = [
  ...conflictingFlags(conflictingInputs.respond),
  ['--history', '--input'],
  ['--system', '--instructions'],
  ...conversationConflicts('--input', '--previous-response-id', '--conversation', '--background'),
]

export const respondExamples: readonly Example[] = [
  ['modelgate respond -m MODEL "Name three rivers"'],
  ['git diff | modelgate respond -m MODEL "Review this"'],
  ['modelgate respond -m MODEL --tool web_search "News of today"'],
  ['modelgate respond -m MODEL --schema person.json "Invent a person"'],
  ['modelgate respond -c "And then?"', 'continue the last exchange'],
  ['modelgate respond -m MODEL --previous-response-id resp_1 "And then?"'],
]

/** `modelgate respond`: text, response-object style, streamed by default (specification, endpoint 2). */
export function registerRespond(command: Command, context: Context, send = sendText): void {
  addExamples(command, respondExamples)
  addShared(command, allShared, strictMeanings.text)
  command
    .argument('[input...]', 'what to ask; "-" or a pipe reads standard input, @file a file')
    .option('-s, --system <text>', 'system instruction as text, or @file (the field instructions)')
    .addOption(inputOption(attach))
    .addOption(continueOption())
    .addOption(conversationFileOption())
    .addOption(inputOption(schema))
    .option(
      '--history <json>',
      'earlier messages: chat messages or input items as JSON, @file, @- or a file name',
    )
    .option(
      '--tool-output <call=text>',
      'what a tool returned: CALL_ID=TEXT, =@file or =@- (repeatable); no prompt needed',
      collect,
    )
    .option('--custom-tool-output <call=text>', 'the same for a custom tool call (repeatable)', collect)
    .option('--approve <id>', 'approve a remote tool call (repeatable)', collect)
    .option('--deny <id>', 'deny a remote tool call: ID or ID=REASON (repeatable)', collect)
    .addOption(
      suggestWords(
        new Option('--tool <tool>', `${responseToolForms} (repeatable)`).argParser(collect),
        responseToolNames,
      ),
    )
    .action(async (given: string[], _: unknown, self: Command) => {
      const { options, words } = await takeLanguage(self.optsWithGlobals<RespondOptions>(), given, 'respond')
      const { settings, request } = await buildRespondRequest({ context, options, own: self.opts(), words })
      await send(context, options, settings, request)
    })
  addTextOutputOptions(command)
  addContractFlags(command, flags, conflicts)
  showFirst(
    command,
    'system attach continue schema tool extract temperature max-output-tokens reasoning-effort verbosity previous-response-id background',
  )
}

/** @param session the conversation that it goes on with, where no flag names it */
export async function buildRespondRequest(call: CommandCall<RespondOptions>, session?: Session) {
  const { context, options, own } = call
  const otherForms = { input: 'history', tools: 'tool' }
  const draft = await startRequest(call, { endpoint, flags, conflicts, otherForms, modelKind: 'text' })
  const { settings, body, problems } = draft
  const { check } = problems
  await applyShortFlags(draft)
  const talk = await check(() => continued(draft, 'respond', session))
  const known = talk === undefined ? body : { ...body, input: talk.known }
  const answers = (await check(() => readToolAnswers(context, options, known))) ?? []
  const answerSchema = await check(async () => {
    const answer = await readAnswerSchema(context, options)
    if (answer !== undefined) setField(body, ['text', 'format'], schemaFormat(answer.schema), '--schema')
    return answer
  })
  const attachments = (await check(() => readAttachments(context, options))) ?? []

  // If one of these could not be read, it probably held the input.
  const { history, toolOutput, customToolOutput, approve, deny } = options
  const sources = [own['input'], own['prompt'], history, toolOutput, customToolOutput, approve, deny]
  const hasContent =
    (problems.any && sources.some(isGiven)) ||
    answers.length > 0 ||
    talk?.awaitsAnswer === true ||
    ['input', 'prompt'].some((name) => isGiven(body[name]) || isSet(options, name))
  const prompt = await readTextPrompt(draft, { hasContent, joins: true, carried: talk?.model })
  await check(async () => {
    addInput(body, attachments, prompt, answers)
    talk?.complete(await attachmentPaths(attachments))
  })

  const model = await nameModel(draft, talk?.model)
  // Text is shown as it arrives unless a whole reply is requested. A background job has none to show.
  if (body['stream'] === undefined) body['stream'] = body['background'] !== true
  const warnings = await checkRequest(draft, model)
  problems.throwIfAny()
  const request = responseRequest({ model: model?.id ?? null, body, answerSchema, warnings })
  return { settings: settings!, request: talk === undefined ? request : { ...request, talk } }
}

const isGiven = (value: unknown) => value !== undefined

/** Flags that set several fields, or one field in another form. */
async function applyShortFlags(draft: Draft<RespondOptions>): Promise<void> {
  const { call, body, problems } = draft
  const { context, options } = call
  const { instructions, system, history, tool = [] } = options
  const { check } = problems
  // The field's own flag takes the word null; here the text may come from a file as well.
  const flag = system === undefined ? '--instructions' : '--system'
  const text = system ?? (instructions === 'null' ? undefined : instructions)
  if (text !== undefined) {
    await check(async () => (body['instructions'] = await parseTextFlag(context, flag, text)))
  }
  if (history !== undefined) {
    await check(async () => {
      const given = isGiven(body['instructions'] ?? undefined) ? flag : undefined
      const system = await applyHistory(draft, history, 'respond', given)
      if (system !== undefined) body['instructions'] = system
    })
  }
  if (tool.length > 0) {
    const tools = () => allInputs(tool.map((text) => readResponseTool(context, text)))
    await check(async () => appendEntries(body, 'tools', await tools()))
  }
}

/** The items that answer calls of tools and requests for approval. */
async function readToolAnswers(
  context: Context,
  options: RespondOptions,
  body: Body,
): Promise<readonly unknown[]> {
  const { toolOutput = [], customToolOutput = [], approve = [], deny = [], validate } = options
  if ([toolOutput, customToolOutput, approve, deny].every(({ length }) => length === 0)) return []
  const read = (flag: string, texts: readonly string[]) =>
    allInputs(texts.map((text) => readToolOutput(context, flag, text)))
  const outputs = await read('--tool-output', toolOutput)
  const customOutputs = await read('--custom-tool-output', customToolOutput)
  const approvals = [
    ...approve.map((text) => readApproval(text, true)),
    ...deny.map((text) => readApproval(text, false)),
  ]
  // Then the gateway knows the calls, and this program cannot check them.
  const isStored =
    !validate ||
    ['previous_response_id', 'conversation'].some(
      (name) => isGiven(body[name] ?? undefined) || isSet(options, name),
    )
  return [
    ...underFlag('--tool-output', () => toolOutputItems(body, outputs, customOutputs, isStored)),
    ...underFlag('--approve, --deny', () => approvalItems(body, approvals, isStored)),
  ]
}
