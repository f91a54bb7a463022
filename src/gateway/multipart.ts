import { randomBytes } from 'node:crypto'
import { FileError } from '../errors.ts'
import type { RequestBody } from './exchange.ts'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { cannotRead, shownPath } from '../files/file-error.ts'

export interface FieldPart {
  readonly name: string
  readonly value: string
}

export interface FilePart {
  readonly name: string
  readonly fileName: string
  readonly mediaType: string
  readonly size: number
  /** The bytes from the beginning; opened when the parts before have been sent, and again for each attempt. */
  open(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>
}

/**
 * A `multipart/form-data` body (RFC 7578) of known length, the same with every attempt; files are read while it is sent.
 * Its chunks throw FileError `source_changed` when a file does not have the given size.
 */
export function multipartBody(parts: readonly (FieldPart | FilePart)[]): {
  readonly body: RequestBody
  readonly contentType: string
} {
  const boundary = `modelgate-${randomBytes(18).toString('hex')}`
  const end = Buffer.from(`--${boundary}--\r\n`)
  const heads = parts.map((part) => Buffer.from(`--${boundary}\r\n${headOf(part)}`))
  const sizes = parts.map(
    (part, at) => heads[at]!.length + ('value' in part ? 0 : part.size) + lineEnd.length,
  )
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: {
      length: sizes.reduce((sum, size) => sum + size, end.length),
      async *chunks() {
        for (const [at, part] of parts.entries()) {
          yield heads[at]!
          if (!('value' in part)) yield* contentOf(part)
          yield lineEnd
        }
        yield end
      },
    },
  }
}

const lineEnd = Buffer.from('\r\n')

async function* contentOf({ fileName, size, open }: FilePart): AsyncGenerator<Uint8Array> {
  const what = `The size of the file ${JSON.stringify(fileName)}`
  let sent = 0
  for await (const chunk of open()) {
    sent += chunk.length
    if (sent > size) throw sourceChanged(what)
    yield chunk
  }
  if (sent < size) throw sourceChanged(what)
}

/** All of a field; of a file what is before its content. */
function headOf(part: FieldPart | FilePart): string {
  const disposition = `Content-Disposition: form-data; name="${escapeName(part.name)}"`
  if ('value' in part) return `${disposition}\r\n\r\n${part.value}`
  const mediaType = plainMediaType.test(part.mediaType) ? part.mediaType : 'application/octet-stream'
  return `${disposition}; filename="${escapeName(part.fileName)}"\r\nContent-Type: ${mediaType}\r\n\r\n`
}

const plainMediaType = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/

/** Escaped as in browsers (WHATWG, "multipart/form-data encoding algorithm"), so that no name can end its header (S10). */
function escapeName(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

/** The gateway would get neither the old file nor the new one, so the request is not retried (fault A21). */
function sourceChanged(what: string): FileError {
  return new FileError('source_changed', `${what} changed while it was sent.`, {
    phase: 'send',
    billed: 'no',
    hint: 'Run it again once the file is complete.',
  })
}

/** Few and large reads: each is handed to another thread, which takes longer than the read itself. */
const blockBytes = 1_048_576
/** What the connection gets at once, a multiple of what it hands over at a time. */
const chunkBytes = 524_288

/**
 * The bytes of a file; while a block is sent the next is read. Whole chunks are parts of two blocks that are reused: a chunk is
 * valid until the next is requested, which the connection does when all slices of it have left; the last one is a copy.
 * @throws FileError `source_changed` when the file changes meanwhile; UsageError, FileError when it cannot be read
 */
export async function* fileChunks(path: string): AsyncGenerator<Uint8Array> {
  const fail = cannotRead(path)
  // The file may have been replaced by a pipe, which must not block.
  const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch(fail)
  try {
    const before = await handle.stat().catch(fail)
    const read = async (block: Buffer) => {
      const { bytesRead } = await handle.read(block, 0, blockBytes).catch(fail)
      return block.subarray(0, bytesRead)
    }
    const blocks = [Buffer.allocUnsafeSlow(blockBytes), Buffer.allocUnsafeSlow(blockBytes)] as const
    let next = read(blocks[0])
    for (let turn = 1; ; turn++) {
      const bytes = await next
      if (bytes.length === 0) break
      next = read(blocks[turn % 2 === 0 ? 0 : 1])
      // Awaited in the next turn, or never if the sending ends before.
      next.catch(() => {})
      yield* chunksOf(bytes)
    }
    const after = await handle.stat().catch(fail)
    if (after.size !== before.size || after.mtimeMs !== before.mtimeMs) throw sourceChanged(shownPath(path))
  } finally {
    // Only read: what the system says of closing it changes nothing.
    await handle.close().catch(() => {})
  }
}

function* chunksOf(bytes: Buffer): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    const chunk = bytes.subarray(at, at + chunkBytes)
    yield chunk.length === chunkBytes ? chunk : Buffer.from(chunk)
  }
}
