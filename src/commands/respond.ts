import { Option, type Command } from 'commander'
import type { Context } from '../context.ts'
import { conflictingInputs } from '../contract/command-inputs.ts'
import { flagsOf } from '../contract/field.ts'
import { responsesEndpoint as endpoint } from '../contract/responses.ts'
import type { Session } from '../operations/conversation/conversation-session.ts'
import { addInput, responseRequest } from '../operations/response-request.ts'
import { checkApprovals, toolOutputItems } from '../operations/tool-outputs.ts'
import { allInputs } from '../problems.ts'
import { collect, type Example } from './shared/options/common-options.ts'
import {
  checkRequest,
  finishedCall,
  isSet,
  nameModel,
  startRequest,
  type Draft,
  type ParsedCall,
  type RequestShape,
} from './shared/request/build-request.ts'
import { underFlag } from './shared/request/flag-values.ts'
import { readTextPrompt } from './shared/request/text-prompt.ts'
import { readApproval, readDenial, readToolOutput } from './shared/request/tool-flag.ts'
import {
  conversationConflicts,
  readTextParts,
  registerText,
  sendText,
  type TextOptions,
} from './shared/text/text-command.ts'

interface RespondOptions extends TextOptions {
  customToolOutput?: string[]
  approve?: string[]
  deny?: string[]
}

const shape: RequestShape = {
  endpoint,
  modelKind: 'text',
  flags: flagsOf(endpoint.fields)
    .filter(({ name }) => name !== 'model')
    // The gateway's own default is another one; this command always says which it wants.
    .map((flag) => (flag.name === 'stream' ? { ...flag, default: 'true, false with --background' } : flag)),
  conflicts: [
    ...conflictingInputs.respond,
    ['history', 'input'],
    ['system', 'instructions'],
    ...conversationConflicts('input', 'previous-response-id', 'conversation', 'background'),
  ],
  content: {
    fields: ['input', 'prompt'],
    flags: ['input', 'prompt', 'history', 'tool-output', 'custom-tool-output', 'approve', 'deny'],
  },
  otherForms: { input: 'history', tools: 'tool' },
}

export const respondExamples: readonly Example[] = [
  ['modelgate respond -m MODEL "Name three rivers"'],
  ['git diff | modelgate respond -m MODEL "Review this"'],
  ['modelgate respond -m MODEL --tool web_search "News of today"'],
  ['modelgate respond -m MODEL --schema person.json "Invent a person"'],
  ['modelgate respond -c "And then?"', 'continue the last exchange'],
  ['modelgate respond -m MODEL --previous-response-id resp_1 "And then?"'],
]

/** Specification, endpoint 2. */
export function registerRespond(command: Command, context: Context, send = sendText): void {
  registerText<RespondOptions>(command, context, 'respond', {
    argument: '[input...]',
    examples: respondExamples,
    shape,
    shown:
      'system attach continue schema tool extract temperature max-output-tokens reasoning-effort verbosity previous-response-id background',
    options: [
      new Option('-s, --system <text>', 'system instruction as text, or @file (the field instructions)'),
      new Option(
        '--history <json>',
        'earlier messages: chat messages or input items as JSON, @file, @- or a file name',
      ),
      new Option(
        '--tool-output <call=text>',
        'what a tool returned: CALL_ID=TEXT, =@file or =@- (repeatable); no prompt needed',
      ).argParser(collect),
      new Option(
        '--custom-tool-output <call=text>',
        'the same for a custom tool call (repeatable)',
      ).argParser(collect),
      new Option('--approve <id>', 'approve a remote tool call (repeatable)').argParser(collect),
      new Option('--deny <id>', 'deny a remote tool call: ID or ID=REASON (repeatable)').argParser(collect),
    ],
    build: buildRespondRequest,
    send,
  })
}

/** @param session the conversation that it continues, where no flag names it */
export async function buildRespondRequest(call: ParsedCall<RespondOptions>, session?: Session) {
  const draft = await startRequest(call, shape)
  const { body, problems } = draft
  const { talk, answerSchema, attachments } = await readTextParts(draft, 'respond', session)
  const known = talk === undefined ? body['input'] : talk.known
  const answers = (await problems.check(() => readToolAnswers(draft, known))) ?? []
  const prompt = await readTextPrompt(draft, answers.length > 0 || talk?.awaitsAnswer)
  await problems.check(() => {
    addInput(body, attachments, prompt, answers)
    talk?.complete(attachments)
  })
  const model = await nameModel(draft, talk?.model)
  // Text is shown as it arrives unless a whole reply is requested. A background job has none to show.
  if (body['stream'] === undefined) body['stream'] = body['background'] !== true
  const warnings = await checkRequest(draft, model)
  const fields = { model: model?.id ?? null, body, answerSchema, warnings, talk }
  return { call: finishedCall(draft), request: responseRequest(fields) }
}

async function readToolAnswers(draft: Draft<RespondOptions>, input: unknown): Promise<readonly unknown[]> {
  const { context, options } = draft
  const { toolOutput = [], customToolOutput = [], approve = [], deny = [], validate } = options
  const read = (flag: string, texts: readonly string[], type: string) =>
    allInputs(texts.map(async (text) => ({ ...(await readToolOutput(context, flag, text)), type })))
  const outputs = [
    ...(await read('--tool-output', toolOutput, 'function_call')),
    ...(await read('--custom-tool-output', customToolOutput, 'custom_tool_call')),
  ]
  const approvals = [...approve.map(readApproval), ...deny.map(readDenial)]
  // Then the gateway knows the calls, and this program cannot check them.
  const isStored =
    !validate ||
    ['previous_response_id', 'conversation'].some((name) => draft.body[name] != null || isSet(draft, name))
  if (approvals.length > 0) underFlag('--approve, --deny', () => checkApprovals(input, approvals, isStored))
  if (outputs.length === 0) return approvals
  return [...underFlag('--tool-output', () => toolOutputItems(input, outputs, isStored)), ...approvals]
}
