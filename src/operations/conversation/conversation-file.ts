import { basename, dirname, join, resolve } from 'node:path'
import type { FileContext } from '../../context.ts'
import { FileError, ModelgateError, UsageError } from '../../errors.ts'
import { shownPath } from '../../files/file-error.ts'
import { decodeText, invalidTextClause, readInputFile } from '../../files/input-file.ts'
import { takeLock } from '../../files/lock-file.ts'
import { openAtomicFile } from '../../files/atomic-file.ts'
import { withoutSecrets, type Redactor } from '../operation.ts'
import type { Conversation, Style } from './conversation.ts'
import { formatConversation, readConversation } from './file-text.ts'

/** A conversation that is kept in a file. */
export type ConversationFile = Awaited<ReturnType<typeof openConversationFile>>

/** More than a person reads; media is not in it. */
const maxBytes = 64 * 1024 * 1024

export const isJsonFile = (path: string) => /\.json$/i.test(path)

/**
 * Reads a conversation file, or prepares to create it.
 * @param style of a file that says none
 * @param isWritten whether it will be written: checked here, before anything is sent
 * @throws UsageError `invalid_conversation`, FileError
 */
export async function openConversationFile(
  context: FileContext,
  path: string,
  options: { readonly style: Style; readonly isWritten: boolean; readonly rescueFolder: string | undefined },
) {
  const { style, isWritten, rescueFolder } = options
  let known = await readText(context, path)
  let current = path
  // An empty file is as good as none.
  const conversation: Conversation = known
    ? readConversation(path, known, style)
    : { style, settings: {}, messages: [] }
  if (isWritten) await (await openAtomicFile(context, path, { force: true })).discard()

  const write = async (content: string, isNew: boolean) => {
    const place = { force: !isNew, numbered: isNew, ...(isNew && { mode: 0o600 }) }
    const file = await openAtomicFile(context, isNew ? path : current, {
      ...place,
      rescueFolder,
      hasArrived: true,
    })
    await file.write(content)
    return await file.commit()
  }
  return {
    /** As it was read. */
    conversation,
    /**
     * Writes the conversation. What another process has written meanwhile is left alone: then this one continues in a
     * file of its own beside it.
     * @param redactor takes secrets out
     * @throws FileError `conversation_not_saved`, which names that file; FileError of a write that failed, with the file
     *   in the rescue folder
     */
    async save(next: Conversation, redactor: Redactor): Promise<void> {
      const content = formatConversation(withoutSecrets(next, redactor), isJsonFile(path))
      const release = await lock(context, current)
      try {
        // What cannot be read any more cannot be written either, which is told there.
        let unread: ModelgateError | undefined
        const found = await readText(context, current).catch((error: unknown) => {
          if (error instanceof ModelgateError) unread = error
          return undefined
        })
        const isMine = release !== undefined && (found === undefined || found === (known ?? ''))
        const isNew = !isMine || found === undefined
        const { path: written, rescued } = await write(content, isNew)
        if (rescued !== undefined) throw notSaved(rescued)
        const before = current
        current = written
        known = content
        if (!isMine || (isNew && written !== before)) throw changed(before, written, unread)
      } catch (error) {
        if (error instanceof ModelgateError && error.code !== 'conversation_not_saved') throw notSaved(error)
        throw error
      } finally {
        await release?.()
      }
    },
  }
}

/** The text of a file; undefined when there is none. */
async function readText(context: FileContext, path: string): Promise<string | undefined> {
  const bytes = await readInputFile(context, path, { maxBytes, pipes: false })
  if (bytes instanceof ModelgateError) {
    if (bytes.code === 'not_found') return undefined
    if (bytes.code === 'empty_file') return ''
    throw bytes
  }
  const { text, invalid } = decodeText(bytes)
  if (text !== undefined) return text
  throw new UsageError(`${shownPath(path)} ${invalidTextClause(invalid)}.`, { code: 'invalid_conversation' })
}

/** The error of a write, told from one of the answer itself. */
function notSaved(error: ModelgateError): ModelgateError {
  const message = `The conversation was not saved: ${error.message}`
  return error.amend({ exit: 'io', code: 'conversation_not_saved', message, phase: 'output', billed: 'yes' })
}

function changed(path: string, written: string, unread: ModelgateError | undefined): FileError {
  const what =
    unread?.message.replace(/\.$/, '') ?? `${shownPath(path)} was changed by another process meanwhile`
  const message = `${what}; the conversation with this exchange is in ${shownPath(written)}.`
  return new FileError('conversation_not_saved', message, {
    phase: 'output',
    billed: 'yes',
    hint: `Continue with either of them: --conversation-file ${shownPath(written)}`,
  })
}

const lockWaitMs = 2_000

/** One writer at a time. @returns undefined when another one holds it for too long */
async function lock({ cwd, platform, clock }: FileContext, path: string) {
  const location = resolve(cwd, path)
  const name = join(dirname(location), `.${basename(location)}.lock`)
  // A folder that cannot be written is told by the write itself.
  return await takeLock(name, { platform, clock, waitMs: lockWaitMs }).catch(() => async () => {})
}
