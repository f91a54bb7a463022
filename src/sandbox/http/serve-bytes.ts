import { createHash } from 'node:crypto'
import { RequestProblem } from './request-problem.ts'
import { wholeReply, type Frame, type Reply } from './reply.ts'
import type { SandboxRequest } from '../request.ts'

/** A file that can be fetched completely or in ranges. */
export interface ServedBytes {
  readonly bytes: Uint8Array
  readonly mediaType: string
  /** Strong: the digest of the bytes. */
  readonly etag: string
}

export function servedBytes(bytes: Uint8Array, mediaType: string): ServedBytes {
  return { bytes, mediaType, etag: `"${createHash('sha256').update(bytes).digest('hex')}"` }
}

const pieceBytes = 16 * 1024

/**
 * A file, or the part that `Range` requests, provided that `If-Range` matches.
 * @throws RequestProblem 416
 */
export function serveBytes({ headers }: SandboxRequest, file: ServedBytes): Reply {
  const { bytes, mediaType, etag } = file
  const { range, 'if-range': ifRange } = headers
  const part = ifRange === undefined || ifRange === etag ? byteRange(range, bytes.length) : undefined
  if (part === 'unsatisfiable') {
    throw new RequestProblem(416, `The file has ${bytes.length} bytes.`, {
      headers: { 'content-range': `bytes */${bytes.length}` },
    })
  }
  const [start, end] = part ?? [0, bytes.length]
  const contentRange = part && { 'content-range': `bytes ${start}-${end - 1}/${bytes.length}` }
  return wholeReply(pieces(bytes.subarray(start, end)), mediaType, {
    status: part === undefined ? 200 : 206,
    headers: { 'accept-ranges': 'bytes', etag, ...contentRange },
  })
}

function pieces(bytes: Uint8Array): Frame[] {
  return Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, index) => ({
    text: '',
    bytes: bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes),
    pause: index === 0 ? 'first' : 'none',
    role: (index + 1) * pieceBytes < bytes.length ? 'event' : 'terminal',
  }))
}

/**
 * Parses a `Range` header with one range (RFC 9110, section 14).
 * @returns the first byte and the one after the last; undefined for the whole body, also if the header is not
 *   understood; `unsatisfiable` for 416
 */
function byteRange(
  header: string | undefined,
  length: number,
): readonly [start: number, end: number] | 'unsatisfiable' | undefined {
  const [, from, to] = /^bytes=(\d*)-(\d*)$/i.exec(header?.trim() ?? '') ?? []
  if (from === undefined || to === undefined || (from === '' && to === '')) return undefined
  if (from === '') {
    const suffix = Math.min(Number(to), length)
    return suffix === 0 ? 'unsatisfiable' : [length - suffix, length]
  }
  const start = Number(from)
  if (to !== '' && Number(to) < start) return undefined
  if (start >= length) return 'unsatisfiable'
  return [start, to === '' ? length : Math.min(Number(to) + 1, length)]
}
