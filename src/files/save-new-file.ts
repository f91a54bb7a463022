import { join } from 'node:path'
import type { FileContext } from '../context.ts'
import type { SavedFile } from '../events/text.ts'
import type { WrittenFile } from './atomic-file.ts'
import { numberedName } from './file-name.ts'
import { extensionOf } from './media-type.ts'
import { openResultFile, type Rescue } from './open-atomic-file.ts'

export interface NewFile extends Partial<Rescue> {
  /** Where to save; relative to the context's working directory, `.` for that itself. */
  readonly folder: string
  /** A name made by `safeFileName`. */
  readonly stem: string
  /** Determines the extension. */
  readonly mediaType: string
  readonly data: Uint8Array
}

/**
 * Saves data under the first free of the names `stem.ext`, `stem-2.ext`, `stem-3.ext`, …; nothing is overwritten,
 * also when several processes save at once.
 * @throws as `openAtomicFile` does
 */
export async function saveNewFile(
  context: FileContext,
  { folder, stem, mediaType, data, ...rescue }: NewFile,
): Promise<SavedFile & Pick<WrittenFile, 'rescued'>> {
  const name = `${stem}.${extensionOf(mediaType)}`
  const spareName = (count: number) => numberedName(name, count)
  const file = await openResultFile(context, join(folder, name), { force: false, spareName, ...rescue })
  await file.write(data)
  return { ...(await file.commit()), mime_type: mediaType }
}
