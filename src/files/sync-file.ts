import type { FileHandle } from 'node:fs/promises'
import { systemCode } from './file-error.ts'

/** So many bytes are left to the system before it is told to bring them to the disk. */
const unsyncedBytes = 4 * 1024 * 1024

/** Brings a file to the disk while it is being written: its end then waits only for the last part. */
export interface FileSync {
  /** Tells how much has been written. Waits for nothing. */
  wrote(bytes: number): void
  /**
   * Waits until all that was written is on the disk.
   * @throws the error of the system, also one that an earlier part met
   */
  finish(): Promise<void>
}

export function createFileSync(handle: FileHandle): FileSync {
  let unsynced = 0
  let running: Promise<void> | undefined
  let failure: unknown

  return {
    wrote(bytes) {
      unsynced += bytes
      if (unsynced < unsyncedBytes || running !== undefined) return
      unsynced = 0
      running = handle
        .datasync()
        // The system tells of a failure only once.
        .catch((error: unknown) => void (failure ??= error))
        .finally(() => (running = undefined))
    },
    async finish() {
      await running
      if (failure !== undefined && !isUnable(failure)) throw failure
      await handle.sync().catch((error: unknown) => {
        if (!isUnable(error)) throw error
      })
    },
  }
}

/** Not every file system, and not every kind of file, can be told. */
function isUnable(error: unknown): boolean {
  return ['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(systemCode(error) ?? '')
}
