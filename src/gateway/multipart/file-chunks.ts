import { open } from 'node:fs/promises'
import { FileError } from '../../errors.ts'
import { readError, shownPath } from '../../files/file-error.ts'

/** Few and large reads; small enough to leave a slow line within the idle limit. */
const chunkBytes = 262_144

/**
 * The bytes of a file for a request's body. The file is opened when the first chunk is asked for.
 * Whole chunks share one buffer: a chunk holds only until the next one is asked for. The connection keeps to that,
 * since it takes the next one only when a chunk of this size has left the process; the last, shorter one is a copy.
 * @throws FileError `source_changed` when the file is written to meanwhile; UsageError, FileError when it cannot be read
 */
export async function* fileChunks(path: string): AsyncGenerator<Uint8Array> {
  const handle = await open(path).catch((error: unknown) => {
    throw readError(error, path)
  })
  try {
    const before = await handle.stat()
    const buffer = Buffer.allocUnsafeSlow(chunkBytes)
    for (;;) {
      const { bytesRead } = await handle.read(buffer, 0, chunkBytes).catch((error: unknown) => {
        throw readError(error, path)
      })
      if (bytesRead === 0) break
      yield bytesRead === chunkBytes ? buffer : Buffer.from(buffer.subarray(0, bytesRead))
    }
    const after = await handle.stat()
    if (after.size !== before.size || after.mtimeMs !== before.mtimeMs) throw changed(path)
  } finally {
    await handle.close()
  }
}

function changed(path: string): FileError {
  return new FileError('source_changed', `${shownPath(path)} changed while it was sent.`, {
    phase: 'send',
    billed: 'no',
    hint: 'Run it again once the file is complete.',
  })
}
