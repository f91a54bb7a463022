import type { Context } from '../context.ts'
import type { AtomicFile } from './atomic-file.ts'
import { openDirectly } from './direct-file.ts'
import { openTemporary } from './temporary-file.ts'
import { findTarget } from './write-target.ts'

export interface WriteOptions {
  /** Replace an existing file. */
  readonly force: boolean
  /**
   * Other names in the same folder (counted from 2), the first free of which the file gets when its own is taken,
   * before writing or meanwhile: what was paid for is not thrown away because somebody else was faster.
   */
  readonly spareName?: (count: number) => string
}

/**
 * Opens `path` (relative to the context's working directory) for writing under a temporary name in the same folder.
 * Everything that can be known before anything is sent is checked here: an existing target, a missing folder,
 * a folder that cannot be written. Pipes and devices (`/dev/null`, `>(gzip)`) are written directly.
 * @throws UsageError `folder_missing`
 * @throws FileError `file_exists`, `is_folder`, `permission_denied`, `read_only`, `no_space`, `name_too_long`, …
 */
export async function openAtomicFile(
  context: Context,
  path: string,
  { force, spareName }: WriteOptions,
): Promise<AtomicFile> {
  const target = await findTarget(context, path, force, spareName !== undefined)
  return target.kind === 'stream'
    ? await openDirectly(context, path, target.location)
    : await openTemporary(context, path, target, spareName)
}
