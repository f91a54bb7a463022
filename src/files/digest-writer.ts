import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'

/** Counts and hashes what it writes. */
export interface DigestWriter {
  write(chunk: Uint8Array | string): Promise<void>
  /** Bytes that have been written whole so far. */
  readonly bytes: number
  /** Bytes so far and their SHA-256. The last call. */
  finish(): { readonly bytes: number; readonly sha256: string }
}

/** Writes to an open file from its current position on, whole chunks in the order of the calls. */
export function digestWriter(handle: FileHandle): DigestWriter {
  const hash = createHash('sha256')
  let bytes = 0
  return {
    async write(chunk) {
      const data = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      const written = writeWhole(handle, data)
      // Meanwhile: the system writes in a thread of its own.
      hash.update(data)
      await written
      bytes += data.length
    },
    get bytes() {
      return bytes
    },
    finish: () => ({ bytes, sha256: hash.digest('hex') }),
  }
}

/** The system may take less than it is given. */
async function writeWhole(handle: FileHandle, data: Uint8Array): Promise<void> {
  for (let at = 0; at < data.length;) {
    const { bytesWritten } = await handle.write(data, at, data.length - at)
    at += bytesWritten
  }
}
