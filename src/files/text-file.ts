import type { FileContext } from '../context.ts'
import type { SavedFile } from '../events/text.ts'
import { openAtomicFile, type WriteOptions, type WrittenFile } from './atomic-file.ts'

export type TextFile = Awaited<ReturnType<typeof openTextFile>>

// The file is invisible until it is complete, so small writes would only cost time.
const flushLength = 65_536

/**
 * Opens a file for text, encoded as UTF-8, that appears complete or not at all.
 * @throws as `openAtomicFile` does
 */
export async function openTextFile(context: FileContext, path: string, options: WriteOptions) {
  const file = await openAtomicFile(context, path, options)
  let gathered = ''

  /** A high surrogate at the end waits for its other half in the next text. */
  async function writeGathered(isLast: boolean) {
    const isSplit = !isLast && /[\ud800-\udbff]$/.test(gathered.slice(-1))
    const text = isSplit ? gathered.slice(0, -1) : gathered
    gathered = isSplit ? gathered.slice(-1) : ''
    if (text !== '') await file.write(text)
  }

  return {
    /** As given. */
    path,
    /** Buffers the text; there is no need to await `flush` after each call. */
    write(text: string): void {
      gathered += text
    },
    /** Writes the buffer once there is enough text, to a pipe at once, and waits for a slow disk. */
    async flush(): Promise<void> {
      if (file.isDirect || gathered.length >= flushLength) await writeGathered(false)
    },
    async commit(): Promise<SavedFile & Pick<WrittenFile, 'rescued'>> {
      await writeGathered(true)
      return { ...(await file.commit()), mime_type: 'text/plain' }
    },
    discard: () => file.discard(),
  }
}
