import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { FileError } from '../../errors.ts'
import { readError, shownPath } from '../../files/file-error.ts'

/** Few and large reads: each is done by another thread, and handing it over takes longer than to read less. */
const blockBytes = 1_048_576
/** What the connection gets at once; small enough to leave a slow line within the idle limit. */
const chunkBytes = 524_288

/**
 * The bytes of a file for a request's body. The file is opened when the first chunk is asked for, and while a block of
 * it is sent the next is read. Whole chunks are parts of two blocks that are used again: a chunk holds only until the
 * next one is asked for. The connection keeps to that, since it takes the next one only when a chunk of this size has
 * left the process; the last, shorter one is a copy.
 * @throws FileError `source_changed` when the file is written to meanwhile; UsageError, FileError when it cannot be read
 */
export async function* fileChunks(path: string): AsyncGenerator<Uint8Array> {
  // What was a file when it was looked at may be a pipe now, which must not block.
  const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch(
    (error: unknown) => {
      throw readError(error, path)
    },
  )
  try {
    const before = await handle.stat()
    const read = async (block: Buffer) => {
      const { bytesRead } = await handle.read(block, 0, blockBytes).catch((error: unknown) => {
        throw readError(error, path)
      })
      return block.subarray(0, bytesRead)
    }
    const blocks = [Buffer.allocUnsafeSlow(blockBytes), Buffer.allocUnsafeSlow(blockBytes)] as const
    let next = read(blocks[0])
    for (let turn = 1; ; turn++) {
      const bytes = await next
      if (bytes.length === 0) break
      next = read(blocks[turn % 2 === 0 ? 0 : 1])
      // It is waited for later, or, where the sending ends before, never.
      next.catch(() => {})
      yield* chunksOf(bytes)
    }
    const after = await handle.stat()
    if (after.size !== before.size || after.mtimeMs !== before.mtimeMs) throw changed(path)
  } finally {
    await handle.close()
  }
}

function* chunksOf(bytes: Buffer): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    const chunk = bytes.subarray(at, at + chunkBytes)
    yield chunk.length === chunkBytes ? chunk : Buffer.from(chunk)
  }
}

function changed(path: string): FileError {
  return new FileError('source_changed', `${shownPath(path)} changed while it was sent.`, {
    phase: 'send',
    billed: 'no',
    hint: 'Run it again once the file is complete.',
  })
}
