import { RequestProblem } from './problem.ts'
import type { Frame, Reply } from './reply.ts'
import type { SandboxRequest } from '../request.ts'

/** A file that can be fetched whole or in parts. */
export interface ServedBytes {
  readonly bytes: Uint8Array
  readonly mediaType: string
  /** Strong: the digest of the bytes. */
  readonly etag: string
}

const pieceBytes = 16 * 1024

/**
 * A file, or the part of it that `Range` asks for, as long as `If-Range` still names the same one.
 * @param what it is, for messages: `image`
 * @throws RequestProblem 416
 */
export function serveBytes({ headers }: SandboxRequest, what: string, file: ServedBytes): Reply {
  const { bytes, mediaType, etag } = file
  const { range, 'if-range': ifRange } = headers
  const part = ifRange === undefined || ifRange === etag ? byteRange(range, bytes.length) : undefined
  if (part === 'unsatisfiable') {
    throw new RequestProblem(416, `The ${what} has ${bytes.length} bytes.`, {
      headers: { 'content-range': `bytes */${bytes.length}` },
    })
  }
  const { start, end } = part ?? { start: 0, end: bytes.length }
  return {
    status: part === undefined ? 200 : 206,
    headers: {
      'content-type': mediaType,
      'accept-ranges': 'bytes',
      etag,
      ...(part && { 'content-range': `bytes ${start}-${end - 1}/${bytes.length}` }),
    },
    frames: pieces(bytes.subarray(start, end)),
    isWhole: true,
    creates: false,
    breakOff: () => [],
  }
}

function pieces(bytes: Uint8Array): Frame[] {
  return Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, index) => ({
    text: '',
    bytes: bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes),
    pause: index === 0 ? 'first' : 'none',
    role: (index + 1) * pieceBytes < bytes.length ? 'event' : 'terminal',
  }))
}

/** A part of a body: first byte and the one behind the last. */
interface ByteRange {
  readonly start: number
  readonly end: number
}

/**
 * Reads a `Range` header with one range (RFC 9110, section 14).
 * @returns undefined for the whole body, which is also the answer to what is not understood; `unsatisfiable` for 416
 */
function byteRange(header: string | undefined, length: number): ByteRange | 'unsatisfiable' | undefined {
  const [, from, to] = /^bytes=(\d*)-(\d*)$/i.exec(header?.trim() ?? '') ?? []
  if (from === undefined || to === undefined || (from === '' && to === '')) return undefined
  if (from === '') {
    const suffix = Math.min(Number(to), length)
    return suffix === 0 ? 'unsatisfiable' : { start: length - suffix, end: length }
  }
  const start = Number(from)
  if (to !== '' && Number(to) < start) return undefined
  if (start >= length) return 'unsatisfiable'
  return { start, end: to === '' ? length : Math.min(Number(to) + 1, length) }
}
