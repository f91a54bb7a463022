import type { Context } from '../context.ts'
import { openDirectly } from './direct-file.ts'
import { openTemporary } from './temporary-file.ts'
import { findTarget } from './write-target.ts'

/** A file that has been written whole. */
interface WrittenFile {
  /** As it was given, not resolved; with another name in the same folder when a spare one was needed. */
  readonly path: string
  readonly bytes: number
  /** Of the content, in hexadecimal. */
  readonly sha256: string
}

/** A file that appears whole under its name, or not at all. */
export interface AtomicFile {
  /** Bytes reach their reader as they are written: the target is a pipe or a device, and nothing can be taken back. */
  readonly isDirect: boolean
  /** @throws FileError when the system refuses (`no_space`, …) */
  write(chunk: Uint8Array | string): Promise<void>
  /**
   * Gives the file its name. The last call; `discard` after it does nothing.
   * @throws FileError; nothing is left behind then
   */
  commit(): Promise<WrittenFile>
  /** Removes what was written. Never throws, may be called at any time and more than once. */
  discard(): Promise<void>
}

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
