import { RequestProblem } from '../http/problem.ts'
import type { Frame, Reply } from '../http/reply.ts'
import type { SandboxRequest } from '../request.ts'
import { byteRange } from './byte-range.ts'
import type { ImageStore } from './image-store.ts'

const pieceBytes = 16 * 1024

/**
 * `GET /sandbox/images/{file}`: an image, or the part of it that `Range` asks for, as long as `If-Range` still names
 * the same one.
 * @throws RequestProblem 403 or 404 as the store says, 416
 */
export function serveImage(request: SandboxRequest, file: string, store: ImageStore): Reply {
  const { bytes, mediaType, etag } = store.find(file, request.query)
  const { range, 'if-range': ifRange } = request.headers
  const part = ifRange === undefined || ifRange === etag ? byteRange(range, bytes.length) : undefined
  if (part === 'unsatisfiable') {
    throw new RequestProblem(416, `The image has ${bytes.length} bytes.`, {
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
