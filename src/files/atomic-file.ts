import type { FileError } from '../errors.ts'

/** A file that has been written whole. */
export interface WrittenFile {
  /**
   * As it was given, not resolved; with another name in the same folder when a spare one was needed. The absolute path
   * in the rescue folder of what was rescued.
   */
  readonly path: string
  readonly bytes: number
  /** Of the content, in hexadecimal. */
  readonly sha256: string
  /** Why the content is in the rescue folder instead of where it belongs; its message and facts tell the path. */
  readonly rescued?: FileError
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
  /**
   * The same for content that is not whole: the file is called `NAME.damaged.EXT`, or the next free name like that.
   * @throws FileError; nothing is left behind then
   */
  commitDamaged(): Promise<WrittenFile>
  /** Removes what was written. Never throws, may be called at any time and more than once. */
  discard(): Promise<void>
}
