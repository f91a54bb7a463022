import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stateFolder } from '../../config/paths.ts'
import type { Context } from '../../context.ts'
import { openAtomicFile } from '../../files/open-atomic-file.ts'

/** How many messages are kept for the next chat. */
const kept = 1_000
const maxCharacters = 10_000

/** Earlier messages, the newest first; none where there are none. */
export function readChatHistory(context: Context): string[] {
  const path = pathOf(context)
  if (path === undefined) return []
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .flatMap((line) => {
        const message: unknown = line === '' ? undefined : JSON.parse(line)
        return typeof message === 'string' ? [message] : []
      })
      .toReversed()
  } catch {
    return []
  }
}

/**
 * Keeps messages for the next chat, for the user alone to read, with those of other chats. A failure is none of the
 * chat's.
 * @param added the newest first
 * @param clean takes secrets out
 */
export async function saveChatHistory(
  context: Context,
  added: readonly string[],
  clean: (text: string) => string,
): Promise<void> {
  const path = pathOf(context)
  if (path === undefined || added.length === 0) return
  const own = added.filter((message) => message.length <= maxCharacters).map(clean)
  const lines = [...own, ...readChatHistory(context)].slice(0, kept)
  try {
    mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 })
    const file = await openAtomicFile(context, path, { force: true, mode: 0o600 })
    await file.write(
      lines
        .toReversed()
        .map((message) => `${JSON.stringify(message)}\n`)
        .join(''),
    )
    await file.commit()
  } catch {
    // It is a convenience.
  }
}

function pathOf(context: Context): string | undefined {
  const folder = stateFolder(context)
  return folder === undefined ? undefined : join(folder, 'chat-history')
}
