import type { ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { pngBytes, pngChunk } from '../support/image-bytes.ts'
import { ftyp, largeBox, moov } from '../support/video-bytes.ts'

/** A PNG of one pixel and of exactly the given size in bytes: the rest is a comment. */
export function bigPng(bytes: number): Buffer {
  const comment = Buffer.alloc(bytes - pngBytes().length - 12)
  for (let at = 0; at + 4 <= comment.length; at += 4) comment.writeUInt32LE((at * 2_654_435_761) >>> 0, at)
  return pngBytes({ chunks: [pngChunk('npAd', comment)] })
}

const pieceBytes = 1_048_576
const pieces = 2048

/** An MP4 up to where its pictures begin; what follows is the same piece again and again. */
const start = Buffer.concat([ftyp(), moov(), largeBox('mdat', 16n + BigInt(pieceBytes) * BigInt(pieces))])
const piece = Buffer.alloc(pieceBytes, 0x5a)

export const largeVideoBytes = start.length + pieceBytes * pieces

let sent = 0

/** Sends the video, made while it is sent: of every two replies the first is cut off in the middle. */
export async function sendLargeVideo(response: ServerResponse): Promise<void> {
  const end = sent++ % 2 === 0 ? Math.floor(largeVideoBytes / 2) : largeVideoBytes
  response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': largeVideoBytes })
  // A client that goes away in between is no fault of the gateway.
  await pipeline(bytesUntil(end), response, { end: false }).catch(() => {})
  if (end < largeVideoBytes) response.destroy()
  else response.end()
}

function* bytesUntil(end: number): Generator<Buffer> {
  for (let at = 0; at < end;) {
    const bytes = at < start.length ? start.subarray(at) : piece.subarray((at - start.length) % pieceBytes)
    const next = bytes.subarray(0, end - at)
    at += next.length
    yield next
  }
}
