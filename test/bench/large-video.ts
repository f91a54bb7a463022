import type { ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { ftyp, largeBox, moov } from '../support/video-bytes.ts'

const pieceBytes = 1_048_576
const pieces = 2048

/** An MP4 up to where its pictures begin; what follows is the same piece again and again. */
const start = Buffer.concat([ftyp(), moov(), largeBox('mdat', 16n + BigInt(pieceBytes) * BigInt(pieces))])
const piece = Buffer.alloc(pieceBytes, 0x5a)

export const largeVideoBytes = start.length + pieceBytes * pieces

/** Sends the video, made while it is sent. Whoever does not ask for a range gets half of it, and then is cut off. */
export async function sendLargeVideo(range: string | undefined, response: ServerResponse): Promise<void> {
  const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0)
  response.writeHead(range === undefined ? 200 : 206, {
    'content-type': 'video/mp4',
    'content-length': largeVideoBytes - from,
    etag: '"large"',
    ...(range !== undefined && {
      'content-range': `bytes ${from}-${largeVideoBytes - 1}/${largeVideoBytes}`,
    }),
  })
  const end = range === undefined ? Math.floor(largeVideoBytes / 2) : largeVideoBytes
  // A client that goes away in between is no fault of the gateway.
  await pipeline(bytesBetween(from, end), response, { end: false }).catch(() => {})
  if (end < largeVideoBytes) response.destroy()
  else response.end()
}

function* bytesBetween(from: number, end: number): Generator<Buffer> {
  for (let at = from; at < end;) {
    const bytes = at < start.length ? start.subarray(at) : piece.subarray((at - start.length) % pieceBytes)
    const sent = bytes.subarray(0, end - at)
    at += sent.length
    yield sent
  }
}
