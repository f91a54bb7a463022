import type { SavedFile } from '../contract/text-event.ts'

/** The file of `-o FILE` while it is being written: nothing is at its final name before `commit`. */
export interface TextFile {
  /** Takes text of any length, cut between characters; writes nothing yet. */
  write(text: string): void
  /**
   * Waits until what was written has been handed to the system.
   * @throws FileError when the system refused
   */
  flush(): Promise<void>
  /**
   * Puts the file at its final name.
   * @throws FileError when that is not possible; `discard` may still be called then
   */
  commit(): Promise<SavedFile>
  /** Removes whatever was written. Harmless when there is nothing. */
  discard(): Promise<void>
}
