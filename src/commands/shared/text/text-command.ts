import { Option, type Command } from 'commander'
import { rescueFolder } from '../../../config/paths.ts'
import type { Settings } from '../../../config/settings.ts'
import type { Context } from '../../../context.ts'
import { UsageError } from '../../../errors.ts'
import type { TextFile } from '../../../files/text-file.ts'
import { compileAnswerSchema, type AnswerSchema } from '../../../operations/answer-schema.ts'
import { readHistory } from '../../../operations/chat-history.ts'
import { messageField, type Style } from '../../../operations/conversation/conversation.ts'
import { attachBytes, readAttachment, type Attachment } from '../../../operations/attachments.ts'
import { generateText, textGatewayRequest, type TextRequest } from '../../../operations/generate-text.ts'
import type { Draft } from '../request/build-request.ts'
import type { ConversationOptions } from './conversation.ts'
import { loadMarkdown, type OutputOptions } from '../../../output/create-output.ts'
import { createGate } from '../../../output/gate.ts'
import { suggestWords, type CommonOptions } from '../options/common-options.ts'
import { ofFlag, parseJsonFileFlag, underFlag } from '../request/request-body.ts'
import { allInputs } from '../../../problems.ts'
import type { ConflictingFlags } from '../request/contract-flags.ts'
import type { PreparedRequest, Session } from '../../../operations/conversation/conversation-session.ts'
import { answerCommand, learnName, resumeCommand, waitLimits, type JobNames } from '../jobs/resume-command.ts'
import { runOperation } from '../call/run-operation.ts'
import { readStandardInputBytes } from '../input/standard-input.ts'

/** The options of commands that print the text of an answer. */
export interface TextOutputFlags {
  render?: string
  extract?: string | true
}

/** The options that both text commands have. */
export interface TextOptions extends CommonOptions, TextOutputFlags {
  attach?: string[]
  schema?: string
}

export function continueOption(): Option {
  return new Option(
    '-c, --continue [id]',
    'continue the last exchange of this terminal, else of this folder; or any of the log',
  )
}

export function conversationFileOption(): Option {
  return new Option(
    '--conversation-file <file>',
    'keep the conversation in a file, to edit, copy and continue',
  )
}

/** What says itself what was said before. @param own flags of one of the commands */
export function conversationConflicts(...own: readonly string[]): readonly ConflictingFlags[] {
  return ['--history', ...own].flatMap((flag) => [
    ['--continue', flag] as const,
    ['--conversation-file', flag] as const,
  ])
}

/**
 * The conversation that a call continues, with its request prepared.
 * @param session the conversation, where no flag names it
 * @returns undefined for a call that stands alone, for which nothing of conversations is loaded
 * @throws UsageError when there is nothing to continue, or the file is not a conversation; FileError
 */
export async function continued(
  draft: Draft<ConversationOptions>,
  style: Style,
  session?: Session,
): Promise<PreparedRequest | undefined> {
  const { options } = draft.call
  const isNamed = options.continue !== undefined || options.conversationFile !== undefined
  if (session === undefined && !isNamed) return undefined
  return await (await import('./conversation.ts')).continueConversation(draft, style, session)
}

/** Reads `--schema`. @throws UsageError, FileError naming the flag */
export async function readAnswerSchema(
  context: Context,
  { schema }: TextOptions,
): Promise<AnswerSchema | undefined> {
  if (schema === undefined) return undefined
  return await compileAnswerSchema(context, await parseJsonFileFlag(context, '--schema', schema))
}

/** Reads `--attach`. @throws UsageError, FileError with all that is wrong with them, naming the flag */
export async function readAttachments(
  context: Context,
  { attach = [] }: TextOptions,
): Promise<readonly Attachment[]> {
  return await allInputs(attach.map((location) => attachment(context, location)))
}

/**
 * Puts the earlier messages of `--history` (JSON, `@file`, `@-` or a bare file name) into the body.
 * @param system the flag that has said what the system says; undefined where none has
 * @returns what the system says in them
 * @throws UsageError, naming the flag; UsageError and FileError as `parseJsonFileFlag` does
 */
export async function applyHistory(
  { call: { context }, body }: Draft,
  text: string,
  style: Style,
  system: string | undefined,
): Promise<string | undefined> {
  const value = await parseJsonFileFlag(context, '--history', text)
  const history = underFlag('--history', () => readHistory(value, style))
  body[messageField[style]] = history.messages
  if (history.system === undefined || system === undefined) return history.system
  throw new UsageError(`--history has a system message and ${system} gives another: use only one of them.`)
}

/** The files of attachments, by the SHA-256 of their content. */
export async function attachmentPaths(
  attachments: readonly Attachment[],
): Promise<ReadonlyMap<string, string>> {
  const paths = new Map<string, string>()
  for (const one of attachments) {
    if (one.kind === 'file' && one.path !== undefined) paths.set(await one.sha256(), one.path)
  }
  return paths
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

/** Sends a text request and renders the answer in the requested format. */
export async function sendText(
  context: Context,
  options: TextOptions,
  settings: Settings,
  request: TextRequest,
): Promise<void> {
  const { command, model, body, streamed, warnings, talk } = request
  if (talk?.announcement !== undefined && !settings.quiet.value) {
    // It quotes what was said, which may hold a secret.
    context.stderr.write(`${createGate(context).line(`modelgate: ${talk.announcement}`, 500)}\n`)
  }
  const isBackground = body['background'] === true
  const names: JobNames = new Map()
  const plan = {
    folder: settings.outputDir.value ?? '.',
    keepsResponse: options.json === true || options.jsonl === true,
    strict: options.strict === true,
    resume: (id: string, after?: number) => resumeCommand(context, options, names, true)(id, after),
  }
  await runOperation(context, options, settings, {
    streamed,
    warnings,
    logged: {
      command,
      model,
      body,
      media: [...(options.attach ?? []), ...(talk?.media ?? [])],
      ...(isBackground ? { creation: { model, count: 1, of: 'text' } } : {}),
    },
    describeRequest: (gateway) => ({ request: textGatewayRequest(gateway, request), content: { body } }),
    output: async () => ({
      ...(await textOutput(context, options, settings, await openOutputFile(context, options))),
      resume: plan.resume,
      answer: (document) => answerCommand(context, options, document),
    }),
    rescue: `${command}.txt`,
    async operation(call, gate) {
      if (!isBackground) return await generateText(call, request, plan)
      // Loaded only for a response that is recorded on this machine.
      const [{ startBackground }, { recordPlan }] = await Promise.all([
        import('../../../operations/background-response.ts'),
        import('../jobs/named-job.ts'),
      ])
      const record = recordPlan(context, options, settings, gate)
      return await startBackground(call, request, {
        ...plan,
        ...waitLimits(context, settings),
        ...record,
        onRecorded: (id) => learnName(context, record.store, names, id),
      })
    },
  })
}

export function renderOption(): Option {
  const render = new Option('--render <mode>', 'show Markdown: auto (on a terminal), always or never')
  return suggestWords(render, ['auto', 'always', 'never'])
}

/** Adds the options of commands that print the text of an answer. */
export function addTextOutputOptions(command: Command): void {
  command.addOption(renderOption())
  const extract = '-x, --extract [lang]'
  command.addOption(
    new Option(extract, 'print only the first fenced code block, of that language').conflicts('raw'),
  )
}

/**
 * The parser takes the word behind `-x` for its language; if it names none, it belongs to the other words of the call.
 * @throws UsageError for text in one word with `-x`, which may not have been meant as this option
 */
export async function takeLanguage<Options extends TextOutputFlags>(
  options: Options,
  words: readonly string[],
  command: string,
): Promise<{ readonly options: Options; readonly words: string[] }> {
  const { extract } = options
  if (typeof extract !== 'string') return { options, words: [...words] }
  if (/^\s/.test(extract)) {
    throw new UsageError(`-x takes the name of a language, not ${JSON.stringify(extract)}.`, {
      hint: `Text that begins with a dash follows "--": modelgate ${command} [options] -- "-text"`,
    })
  }
  const { isKnownLanguage } = await import('../../../output/markdown/code-language.ts')
  if (isKnownLanguage(extract)) return { options, words: [...words] }
  return { options: { ...options, extract: true }, words: [extract, ...words] }
}

/**
 * How the text of an answer is shown.
 * @param file takes it, in place of standard output
 */
export async function textOutput(
  context: Context,
  { json, jsonl, raw, extract }: CommonOptions & TextOutputFlags,
  { render }: Settings,
  file?: TextFile,
): Promise<Partial<OutputOptions>> {
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
  const { openTextFile } = await import('../../../files/text-file.ts')
  return openTextFile(context, output, { force: force === true, rescueFolder: rescueFolder(context) })
}
