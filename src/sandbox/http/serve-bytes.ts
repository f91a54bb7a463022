import { createHash } from 'node:crypto'
import { wholeReply, type Frame, type Reply } from './reply.ts'

/** A file that can be fetched. */
export interface ServedBytes {
  readonly bytes: Uint8Array
  readonly mediaType: string
  /** The digest of the bytes. */
  readonly etag: string
}

export function servedBytes(bytes: Uint8Array, mediaType: string): ServedBytes {
  return { bytes, mediaType, etag: `"${createHash('sha256').update(bytes).digest('hex')}"` }
}

const pieceBytes = 16 * 1024

export function serveBytes({ bytes, mediaType, etag }: ServedBytes): Reply {
  return wholeReply(pieces(bytes), mediaType, { headers: { etag } })
}

function pieces(bytes: Uint8Array): Frame[] {
  return Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, index) => ({
    text: '',
    bytes: bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes),
    pause: index === 0 ? 'first' : 'none',
    role: (index + 1) * pieceBytes < bytes.length ? 'event' : 'terminal',
  }))
}
