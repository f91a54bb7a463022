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
  /** The id of a call; empty for the last one. */
  continue?: string
  conversationFile?: string
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
  if (session === undefined && options.continue === undefined && options.conversationFile === undefined)
    return undefined
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
  const last = options.continue === undefined ? undefined : await continueCall(context, options, settings)
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
        hint: 'Without --continue, the conversation in the file is continued.',
      },
    )
  }
  return { conversation: last ?? file.conversation, gateway, file }
}

/** @throws UsageError `nothing_to_continue` */
async function continueCall(
  context: Context,
  { continue: id = '' }: ConversationOptions,
  { history }: Settings,
): Promise<Conversation> {
  const folder = stateFolder(context)
  if (folder === undefined) throw nothing('there is no home directory, so no calls are recorded')
  const [{ exchangeOf, lastExchange }, { openCalls }] = await Promise.all([
    import('../../../operations/conversation/from-log.ts'),
    import('../../../files/calls/read-calls.ts'),
  ])
  const calls = await openCalls(folder)
  const find = (texts: readonly string[]) => calls.calls(texts)
  if (id !== '') {
    const { findCall } = await import('../../../operations/read-log.ts')
    const exchange = exchangeOf(findCall(calls, id), find)
    if (exchange === undefined) throw nothing(`the call ${id} has no answer on record`)
    return exchange
  }
  const last = lastExchange(find, context)
  if (last.kind === 'found') return last.conversation
  if (history.value === 'full') {
    throw nothing(
      last.kind === 'none'
        ? 'there is no exchange of this terminal or this folder'
        : 'the texts of the last calls here were not recorded',
    )
  }
  throw nothing(`the texts of calls are not recorded (history: ${history.value}, ${history.source})`)
}

function nothing(reason: string): UsageError {
  return new UsageError(`Nothing to continue: ${reason}.`, {
    code: 'unknown_id',
    phase: 'input',
    hint: '-c ID continues any call that modelgate log lists; --conversation-file talk.yaml keeps a conversation of its own.',
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
