import type { Context } from '../context.ts'
import type { SavedFile } from '../events/text.ts'
import type { WrittenFile } from './atomic-file.ts'
import { openAtomicFile, type Rescue, type WriteOptions } from './open-atomic-file.ts'

/** Text on its way into a file that appears whole or not at all. */
export interface TextFile {
  /** As it was given. */
  readonly path: string
  /** Keeps the text; nothing is lost when `flush` is not awaited after each. */
  write(text: string): void
  /** Waits for a slow disk. Writes once enough text has gathered, to a pipe at once. */
  flush(): Promise<void>
  commit(): Promise<SavedFile & Pick<WrittenFile, 'rescued'>>
  discard(): Promise<void>
}

// Nothing can be seen of the file before it is complete, so small writes would only cost time.
const flushLength = 65_536

/**
 * Opens a file for exactly the text that is written, as UTF-8.
 * @throws as `openAtomicFile` does
 */
export async function openTextFile(
  context: Context,
  path: string,
  options: WriteOptions & Partial<Rescue>,
): Promise<TextFile> {
  const file = await openAtomicFile(context, path, options)
  let gathered = ''

  /** A high surrogate at the end waits for its other half, which may come with the next text. */
  async function writeGathered(isLast: boolean) {
    const isSplit = !isLast && /[\ud800-\udbff]$/.test(gathered.slice(-1))
    const text = isSplit ? gathered.slice(0, -1) : gathered
    gathered = isSplit ? gathered.slice(-1) : ''
    if (text !== '') await file.write(text)
  }

  return {
    path,
    write(text) {
      gathered += text
    },
    async flush() {
      if (file.isDirect || gathered.length >= flushLength) await writeGathered(false)
    },
    async commit() {
      await writeGathered(true)
      return { ...(await file.commit()), mime_type: 'text/plain' }
    },
    discard: () => file.discard(),
  }
}
