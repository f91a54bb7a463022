import { mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { stateFolder } from '../../config/paths.ts'
import type { Context } from '../../context.ts'
import { openTextFile } from '../../files/text-file.ts'

/** How many messages are kept for the next chat. */
const kept = 1_000
const maxCharacters = 10_000

/** Earlier messages, the newest first; none where there are none. */
export function readChatHistory(context: Context): string[] {
  const path = pathOf(context)
  if (path === undefined) return []
  try {
    const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean)
    return lines.map((line) => String(JSON.parse(line))).toReversed()
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
  const messages = [...own, ...readChatHistory(context)].slice(0, kept).toReversed()
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const file = await openTextFile(context, path, { force: true, mode: 0o600 })
    for (const message of messages) file.write(`${JSON.stringify(message)}\n`)
    await file.commit()
  } catch {
    // It is a convenience.
  }
}

function pathOf(context: Context): string | undefined {
  const folder = stateFolder(context)
  return folder === undefined ? undefined : join(folder, 'chat-history')
}
