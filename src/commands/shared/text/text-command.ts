import { Option, type Command } from 'commander'
import { rescueFolder } from '../../../context/folders.ts'
import type { Context } from '../../../context.ts'
import { commandInputs, type ConflictingNames } from '../../../contract/command-inputs.ts'
import { flagName } from '../../../contract/field.ts'
import { UsageError } from '../../../errors.ts'
import type { OutputDocument } from '../../../events/documents.ts'
import type { TextFile } from '../../../files/atomic-file.ts'
import { shellWord } from '../../../files/file-error.ts'
import { objectOf, objectsOf } from '../../../json.ts'
import { compileAnswerSchema } from '../../../operations/answer-schema.ts'
import { attachBytes, readAttachment, type Attachment } from '../../../operations/attachments.ts'
import {
  messageField,
  readHistory,
  systemField,
  type Style,
} from '../../../operations/conversation/conversation.ts'
import type { Session } from '../../../operations/conversation/conversation-session.ts'
import { generateText, textGatewayRequest, type TextRequest } from '../../../operations/generate-text.ts'
import { appendEntries, type Body } from '../../../operations/operation.ts'
import { schemaFormat } from '../../../operations/response-request.ts'
import { loadMarkdown, type OutputOptions } from '../../../output/create-output.ts'
import { allInputs } from '../../../problems.ts'
import { runOperation } from '../call/run-operation.ts'
import type { CommandCall } from '../gateway/open-gateway.ts'
import { readStandardInputBytes } from '../input/standard-input.ts'
import { flag, gatewayFlags, resumeCommand, waitLimits, type JobNames } from '../jobs/resume-command.ts'
import {
  addShared,
  collect,
  suggestWords,
  type CommonOptions,
  addExamples,
  showFirst,
  type Example,
} from '../options/common-options.ts'
import type { Draft, ParsedCall, RequestShape } from '../request/build-request.ts'
import { addContractFlags, inputOption } from '../request/contract-flags.ts'
import { ofFlag, parseJsonFileFlag, parseTextFlag, underFlag } from '../request/flag-values.ts'
import { setField } from '../request/set-path.ts'
import { namedTools, readTool, toolForms } from '../request/tool-flag.ts'
import type { ConversationOptions } from './conversation.ts'

export interface TextOutputFlags {
  render?: string
  extract?: string | true
}

export interface TextOptions extends ConversationOptions, TextOutputFlags {
  system?: string
  /** Of `respond` alone, another name for `system`. */
  instructions?: string
  history?: string
  attach?: string[]
  schema?: string
  tool?: string[]
  toolOutput?: string[]
}

interface TextCommand<Options extends TextOptions> {
  readonly argument: string
  readonly examples: readonly Example[]
  readonly shape: RequestShape
  readonly shown: string
  /** Those that the other command has not, or means otherwise. */
  readonly options: readonly Option[]
  build(
    call: ParsedCall<Options>,
  ): Promise<{ readonly call: CommandCall<Options>; readonly request: TextRequest }>
  readonly send: typeof sendText
}

export function registerText<Options extends TextOptions>(
  command: Command,
  context: Context,
  style: Style,
  { argument, examples, shape, shown, options: own, build, send }: TextCommand<Options>,
): void {
  const { attach, schema } = commandInputs.respond
  addExamples(command, examples)
  addShared(command, 'all', {
    strict: 'treat an answer truncated by the token limit as a failure',
  })
  command.argument(argument, 'what to ask; "-" or a pipe reads standard input, @file a file')
  const tool = `${toolForms[style]}, or a function or whole tool: @file, JSON (repeatable)`
  const options = [
    inputOption(attach),
    ...conversationOptions(),
    inputOption(schema),
    ...own,
    suggestWords(new Option('--tool <tool>', tool).argParser(collect), Object.keys(namedTools[style])),
  ]
  for (const option of options) command.addOption(option)
  addTextOutputOptions(command)
  addContractFlags(command, shape.flags, shape.conflicts)
  showFirst(command, shown)
  command.action(async (given: string[], all: Options) => {
    const { options, words } = await takeLanguage(all, given, style)
    const { call, request } = await build({ context, options, words })
    await send(call, request)
  })
}

export function conversationOptions(): readonly Option[] {
  const last = 'continue the last exchange of this terminal, else of this folder; or any of the log'
  const file = 'keep the conversation in a file, to edit, copy and continue'
  return [new Option('-c, --continue [id]', last), new Option('--conversation-file <file>', file)]
}

export function conversationConflicts(...own: readonly string[]): readonly ConflictingNames[] {
  const ways = ['continue', 'conversation-file']
  return ['history', ...own].flatMap((flag) => ways.map((way) => [way, flag] as const))
}

/**
 * Where a call stands alone, nothing of conversations is loaded, and there is no `talk`.
 * @param session the conversation, where no flag names it
 */
export async function readTextParts(draft: Draft<TextOptions>, style: Style, session?: Session) {
  const { context, options, settings, body, problems } = draft
  const { check } = problems
  const { system, instructions, history, tool, schema, attach = [], conversationFile } = options
  // The field's own flag takes text as it is; here it may come from a file as well.
  const text = system ?? (instructions === 'null' ? undefined : instructions)
  if (text !== undefined) {
    const flag = system === undefined ? '--instructions' : '--system'
    const added = await check(async () => systemField(style, await parseTextFlag(context, flag, text)))
    if (added !== undefined) body[added[0]] = added[1]
  }
  if (history !== undefined) await check(() => addHistory(draft, style, history))
  if (tool !== undefined) {
    const tools = () => allInputs(tool.map((text) => readTool(context, style, text)))
    await check(async () => appendEntries(body, 'tools', await tools()))
  }
  const isAlone = session === undefined && options.continue === undefined && conversationFile === undefined
  const talk = await check(async () => {
    // What the settings would say of the gateway and the log is not known; the call fails anyway.
    if (isAlone || settings === undefined) return undefined
    const { openSession, prepareRequest } = await import('./conversation.ts')
    const opened = session ?? (await openSession({ ...draft, settings }, style))
    return await prepareRequest(context, opened, style, body)
  })
  const answerSchema =
    schema === undefined ? undefined : await check(() => addAnswerSchema(context, body, style, schema))
  const attachments = await check(() => allInputs(attach.map((location) => attachment(context, location))))
  return { talk, answerSchema, attachments: attachments ?? [] }
}

async function addHistory({ context, options, body }: Draft<TextOptions>, style: Style, text: string) {
  const given = await parseJsonFileFlag(context, '--history', text)
  const history = underFlag('--history', () => readHistory(given, style))
  body[messageField[style]] = history.messages
  if (history.system === undefined) return
  const [field, value] = systemField(style, history.system)
  if (body[field] != null) {
    const other = options.system === undefined ? flagName(field) : 'system'
    throw new UsageError(`--history has a system message and --${other} gives another: use only one of them.`)
  }
  body[field] = value
}

async function addAnswerSchema(context: Context, body: Body, style: Style, text: string) {
  const answer = await compileAnswerSchema(context, await parseJsonFileFlag(context, '--schema', text))
  const set = (path: readonly string[], value: unknown) => setField(body, path, value, '--schema')
  if (style === 'respond') set(['text', 'format'], schemaFormat(answer.schema))
  else {
    set(['generationConfig', 'responseMimeType'], 'application/json')
    set(['generationConfig', 'responseJsonSchema'], answer.schema)
  }
  return answer
}

async function attachment(context: Context, location: string): Promise<Attachment> {
  if (location === '-') {
    const content = await readStandardInputBytes(context, '-a -')
    if (content.length > 0) return attachBytes('stdin', content)
    throw new UsageError('-a -: standard input is empty.', { code: 'empty_file' })
  }
  return readAttachment(context, location).catch((error: unknown) => {
    throw ofFlag('-a', error)
  })
}

export async function sendText(call: CommandCall<TextOptions>, request: TextRequest): Promise<void> {
  const { context, options, settings, gate } = call
  const { command, model, body, streamed, warnings, talk } = request
  if (talk?.announcement !== undefined && !settings.quiet.value) {
    // It quotes what was said, which may hold a secret.
    context.stderr.write(`${gate.line(`modelgate: ${talk.announcement}`, 500)}\n`)
  }
  const isBackground = body['background'] === true
  const names: JobNames = new Map()
  const resume = (id: string, after?: number) => resumeCommand(context, options, names, true)(id, after)
  const plan = { ...textPlan(call), resume }
  await runOperation(call, {
    streamed,
    warnings,
    logged: {
      ...request,
      media: [...(options.attach ?? []), ...(talk?.media ?? [])],
      ...(isBackground ? { creation: { model, count: 1, of: 'text' } } : {}),
    },
    describeRequest: (gateway) => textGatewayRequest(gateway, request),
    output: async () => ({
      ...(await textOutput(call, await openOutputFile(context, options))),
      resume,
      answer: (document) => answerCommand(context, options, document),
    }),
    rescue: `${command}.txt`,
    async operation(own) {
      if (!isBackground) return await generateText(own, request, plan)
      // Loaded only for a response that is recorded on this machine.
      const [{ startBackground }, { recordPlan }] = await Promise.all([
        import('../../../operations/background-response.ts'),
        import('../jobs/named-job.ts'),
      ])
      return await startBackground(own, request, {
        ...plan,
        ...waitLimits(context, settings),
        ...recordPlan(call, names),
      })
    },
  })
}

/**
 * What answers the calls of tools in a response, with TEXT for the user to fill in; undefined for one that asks for nothing,
 * or is not kept.
 */
function answerCommand(
  { program }: Pick<Context, 'program'>,
  options: CommonOptions,
  document: OutputDocument,
): string | undefined {
  if (document.command !== 'respond') return undefined
  const { id, store, output } = objectOf(document.response)
  const calls = document.tool_calls.flatMap(({ type, id: call }) => [
    type === 'custom' ? '--custom-tool-output' : '--tool-output',
    `${call}=TEXT`,
  ])
  const approvals = objectsOf(output).flatMap(({ type, id: request }) =>
    type === 'mcp_approval_request' && typeof request === 'string' ? ['--approve', request] : [],
  )
  const answers = [...calls, ...approvals]
  if (typeof id !== 'string' || store === false || answers.length === 0) return undefined
  const words = ['respond', ...gatewayFlags(options, false), ...flag('-m', options.model)]
  // An assignment needs no quotes for its "=".
  const quoted = (word: string) => (/^[\w.-]+=TEXT$/.test(word) ? word : shellWord(word))
  return [program, ...[...words, '--previous-response-id', id, ...answers].map(quoted)].join(' ')
}

export function textPlan({ options, settings }: Pick<CommandCall, 'options' | 'settings'>) {
  return {
    folder: settings.outputDir.value ?? '.',
    keepsResponse: options.json === true || options.jsonl === true,
    strict: options.strict === true,
  }
}

export function renderOption(): Option {
  const render = new Option('--render <mode>', 'show Markdown: auto (on a terminal), always or never')
  return suggestWords(render, ['auto', 'always', 'never'])
}

export function addTextOutputOptions(command: Command): void {
  command.addOption(renderOption())
  const extract = '-x, --extract [lang]'
  command.addOption(
    new Option(extract, 'print only the first fenced code block, of that language').conflicts('raw'),
  )
}

/**
 * The parser takes the word after `-x` for its language; if it names none, it belongs to the other words of the call. Text
 * in one word with `-x` may not have been meant as this option.
 */
export async function takeLanguage<Options extends TextOutputFlags>(
  options: Options,
  words: string[],
  command: string,
): Promise<{ readonly options: Options; readonly words: string[] }> {
  const { extract } = options
  if (typeof extract !== 'string') return { options, words }
  if (/^\s/.test(extract)) {
    throw new UsageError(`-x takes the name of a language, not ${JSON.stringify(extract)}.`, {
      hint: `Text that begins with a dash follows "--": modelgate ${command} [options] -- "-text"`,
    })
  }
  const { isKnownLanguage } = await import('../../../output/markdown/code-language.ts')
  if (isKnownLanguage(extract)) return { options, words }
  return { options: { ...options, extract: true }, words: [extract, ...words] }
}

/** @param file takes the text, in place of standard output */
export async function textOutput(
  { context, options, settings: { render } }: Omit<CommandCall<CommonOptions & TextOutputFlags>, 'gate'>,
  file?: TextFile,
): Promise<Partial<OutputOptions>> {
  const { json, jsonl, raw, extract } = options
  if (extract !== undefined) {
    const { extractCode } = await import('../../../output/extract-code.ts')
    const language = extract === true ? undefined : extract
    return { file, extract: (other) => extractCode(other, language) }
  }
  if (file !== undefined) return { file }
  return { markdown: json || jsonl || raw ? undefined : await loadMarkdown(context, render.value) }
}

/** Loaded only when a file is written: hashing alone adds milliseconds to the start. */
export async function openOutputFile(
  context: Context,
  { output, force }: CommonOptions,
): Promise<TextFile | undefined> {
  // `-` is standard output, as everywhere.
  if (output === undefined || output === '-') return undefined
  const { openTextFile } = await import('../../../files/atomic-file.ts')
  return openTextFile(context, output, { force: force === true, rescueFolder: rescueFolder(context) })
}
