import { fstatSync, writeSync } from 'node:fs'

/** Whether a descriptor is open for a regular file. */
export function isRegularFile(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isFile()
  } catch {
    return false
  }
}

/**
 * Writes all of a chunk to a file that is open. Node's own stream for standard output takes it for a success when a disk
 * that fills up takes only a part.
 */
export function writeToFile(
  descriptor: number,
  chunk: string | Uint8Array,
  fail: (error: NodeJS.ErrnoException) => void,
): void {
  const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at)
  } catch (error) {
    fail(error as NodeJS.ErrnoException)
  }
}
