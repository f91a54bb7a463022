import type { Context } from '../context.ts'
import { ModelgateError } from '../errors.ts'
import type { AtomicFile } from './atomic-file.ts'
import { openDirectly } from './direct-file.ts'
import { openRescueFile } from './rescue-file.ts'
import { openTemporary, type TemporaryOptions } from './temporary-file.ts'
import { findTarget } from './write-target.ts'

export interface WriteOptions {
  /** Replace an existing file. */
  readonly force: boolean
  /**
   * Other names in the same folder (counted from 2), the first free of which the file gets when its own is taken,
   * before writing or meanwhile: what was paid for is not thrown away because somebody else was faster.
   */
  readonly spareName?: (count: number) => string
  /** The permissions of the file; those of the one that is replaced, or what the umask allows, unless given. */
  readonly mode?: number
}

/** Where a result goes that was paid for and that the system refuses where it belongs. */
export interface Rescue {
  /** Undefined when the machine has no place for one. */
  readonly rescueFolder: string | undefined
}

/**
 * Opens `path` (relative to the context's working directory) for writing under a temporary name in the same folder.
 * Everything that can be known before anything is sent is checked here: an existing target, a missing folder,
 * a folder that cannot be written. Pipes and devices (`/dev/null`, `>(gzip)`) are written directly.
 * @param options with a `rescueFolder`, what the system refuses later goes there, with all that has been written;
 *   not from a pipe or a device, which takes back nothing
 * @throws UsageError `folder_missing`
 * @throws FileError `file_exists`, `is_folder`, `permission_denied`, `read_only`, `no_space`, `name_too_long`, …
 */
export async function openAtomicFile(
  context: Context,
  path: string,
  options: WriteOptions & Partial<Rescue>,
): Promise<AtomicFile> {
  const { force, spareName } = options
  const found = await findTarget(context, path, force, spareName !== undefined)
  if (found.kind === 'stream') return await openDirectly(context, path, found.location)
  const target = { ...found, mode: options.mode ?? found.mode }
  const takeOver: TemporaryOptions['takeOver'] = async (content, reason) => {
    const file = await openRescueFile(context, options.rescueFolder, path, reason)
    try {
      for await (const chunk of content) await file.write(chunk)
      return file
    } catch (error) {
      await file.discard()
      throw error
    }
  }
  const mayRescue = 'rescueFolder' in options
  return await openTemporary(context, path, target, { spareName, takeOver: mayRescue ? takeOver : undefined })
}

/**
 * The same for a result that has come already: what cannot even be opened where it belongs is rescued, too.
 * @throws FileError when the rescue fails as well
 */
export async function openResultFile(
  context: Context,
  path: string,
  options: WriteOptions & Partial<Rescue>,
): Promise<AtomicFile> {
  if (!('rescueFolder' in options)) return await openAtomicFile(context, path, options)
  try {
    return await openAtomicFile(context, path, options)
  } catch (error) {
    // A signal while a named pipe waits for its reader is no refusal of the system.
    if (!(error instanceof ModelgateError) || (error.exit !== 'io' && error.exit !== 'usage')) throw error
    return await openRescueFile(context, options.rescueFolder, path, error)
  }
}
