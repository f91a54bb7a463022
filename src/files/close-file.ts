import { closeSync } from 'node:fs'

/** Closes a file that was only read: what the system says of that changes nothing about what has been read. */
export function closeAfterReading(descriptor: number): void {
  try {
    closeSync(descriptor)
  } catch {
    // It is closed all the same.
  }
}
