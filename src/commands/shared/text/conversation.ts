import { Option } from 'commander'
import { rescueFolder, stateFolder } from '../../../config/paths.ts'
import type { Settings } from '../../../config/settings.ts'
import type { Context } from '../../../context.ts'
import { UsageError } from '../../../errors.ts'
import { shownPath } from '../../../files/file-error.ts'
import type { Attachment } from '../../../operations/attachments.ts'
import type { PreparedRequest, Session } from '../../../operations/conversation/conversation-session.ts'
import type { Conversation, Style } from '../../../operations/conversation/conversation.ts'
import { createGate } from '../../../output/gate.ts'
import { isDryRun, type CommonOptions } from '../options/common-options.ts'
import type { ConflictingFlags } from '../request/contract-flags.ts'
import type { Draft } from '../request/build-request.ts'

/** The options that continue a conversation. */
export interface ConversationOptions extends CommonOptions {
  continue?: true
  conversationFile?: string
}

export function continueOption(): Option {
  return new Option('-c, --continue', 'continue the last exchange of this terminal, else of this folder')
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
 * Opens the conversation that a call continues, and prepares its request.
 * @param session the conversation, where no flag names it
 * @returns undefined for a call that stands alone
 * @throws UsageError when there is nothing to continue, or the file is not a conversation; FileError
 */
export async function continueConversation(
  { call, settings, body }: Draft<ConversationOptions>,
  style: Style,
  session?: Session,
): Promise<PreparedRequest | undefined> {
  const { context, options } = call
  if (session === undefined && !options.continue && options.conversationFile === undefined) return undefined
  // What the settings would say of the gateway and the log is not known; the call fails anyway.
  if (settings === undefined) return undefined
  const { prepareRequest } = await import('../../../operations/conversation/conversation-session.ts')
  const opened = session ?? (await openSession(context, options, settings, style))
  return await prepareRequest(context, opened, style, body)
}

/** @throws as `continueConversation` does */
export async function openSession(
  context: Context,
  options: ConversationOptions,
  settings: Settings,
  style: Style,
): Promise<Session> {
  const { conversationFile: path } = options
  const gateway = options.sandbox ? 'sandbox' : settings.baseUrl.value?.origin
  const last = options.continue ? await continueLast(context, settings) : undefined
  if (path === undefined) return { conversation: last ?? { style, settings: {}, messages: [] }, gateway }
  // `--continue` alone reads the log, which loads nothing for files.
  const { openConversationFile } = await import('../../../operations/conversation/conversation-file.ts')
  const file = await openConversationFile(context, path, {
    style,
    isWritten: !isDryRun(options),
    rescueFolder: rescueFolder(context),
  })
  if (last !== undefined && file.conversation.messages.length > 0) {
    throw new UsageError(
      `--continue cannot be used with ${shownPath(path)}, which already has a conversation.`,
      {
        code: 'conflicting_option',
        hint: 'Without --continue, the conversation in the file is continued.',
      },
    )
  }
  return { conversation: last ?? file.conversation, gateway, file }
}

/** @throws UsageError `nothing_to_continue` */
async function continueLast(context: Context, settings: Settings): Promise<Conversation> {
  const { history } = settings
  const folder = stateFolder(context)
  if (history.value === 'off' || folder === undefined)
    throw nothing(`no calls are recorded (${history.source})`)
  const [{ lastExchange }, { callsThatSay, logFolder }] = await Promise.all([
    import('../../../operations/conversation/from-log.ts'),
    import('../../../files/log/log-file.ts'),
  ])
  const find = (texts: readonly string[]) => callsThatSay(logFolder(folder), texts)
  const last = lastExchange(find, context)
  if (last.kind === 'found') return last.conversation
  if (last.kind === 'none' && history.value === 'full')
    throw nothing('there is no exchange of this terminal or this folder')
  throw nothing(`the texts of calls are not recorded (history: ${history.value}, ${history.source})`)
}

function nothing(reason: string): UsageError {
  return new UsageError(`Nothing to continue: ${reason}.`, {
    code: 'nothing_to_continue',
    phase: 'input',
    hint: 'Keep a conversation in a file of its own: --conversation-file talk.yaml',
  })
}

/** Says something about the request on standard error, unless that is to be quiet. */
export function say(context: Context, isQuiet: boolean, line: string): void {
  if (isQuiet) return
  // It quotes what was said, which may hold a secret.
  context.stderr.write(`${createGate(context).line(`modelgate: ${line}`, 500)}\n`)
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
