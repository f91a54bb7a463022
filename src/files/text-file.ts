import type { FileContext } from '../context.ts'
import type { SavedFile } from '../events/text.ts'
import { openAtomicFile, type WriteOptions, type WrittenFile } from './atomic-file.ts'

/** A file for the text of an answer, which it gets when all of it has come. */
export interface TextFile {
  /** As given. */
  readonly path: string
  /** Writes the text as UTF-8. The last call. @throws FileError; leaves nothing behind */
  commit(text: string): Promise<SavedFile & Pick<WrittenFile, 'rescued'>>
  /** Never throws. */
  discard(): Promise<void>
}

/** @throws as `openAtomicFile` does */
export async function openTextFile(
  context: FileContext,
  path: string,
  options: WriteOptions,
): Promise<TextFile> {
  const file = await openAtomicFile(context, path, options)
  return {
    path,
    async commit(text) {
      await file.write(text)
      return { ...(await file.commit()), mime_type: 'text/plain' }
    },
    discard: () => file.discard(),
  }
}
