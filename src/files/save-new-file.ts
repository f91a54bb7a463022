import { join } from 'node:path'
import type { Context } from '../context.ts'
import type { SavedFile } from '../contract/text-event.ts'
import { ModelgateError } from '../errors.ts'
import { openAtomicFile } from './open-atomic-file.ts'
import { extensionOf } from './file-extension.ts'

export interface NewFile {
  /** Where to save; relative to the context's working directory, `.` for that itself. */
  readonly folder: string
  /** A name that has been through `safeFileName`. */
  readonly stem: string
  /** Decides the extension. */
  readonly mediaType: string
  readonly data: Uint8Array
}

const mostTries = 10_000

/**
 * Saves data under the first free of the names `stem.ext`, `stem-2.ext`, `stem-3.ext`, …; nothing is overwritten,
 * also when several processes save at once.
 * @throws as `openAtomicFile` does
 */
export async function saveNewFile(
  context: Context,
  { folder, stem, mediaType, data }: NewFile,
): Promise<SavedFile> {
  const extension = extensionOf(mediaType)
  for (let count = 1; ; count++) {
    const name = count === 1 ? `${stem}.${extension}` : `${stem}-${count}.${extension}`
    try {
      const file = await openAtomicFile(context, join(folder, name), { force: false })
      await file.write(data)
      return { ...(await file.commit()), mime_type: mediaType }
    } catch (error) {
      const isTaken = error instanceof ModelgateError && error.code === 'file_exists'
      if (!isTaken || count === mostTries) throw error
    }
  }
}
