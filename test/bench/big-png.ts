import { crc32, deflateSync } from 'node:zlib'

/** A PNG of one pixel and of exactly the given size in bytes: the rest is a comment. */
export function bigPng(bytes: number): Buffer {
  const head = Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0, 0, 0])),
  ])
  const tail = Buffer.concat([
    chunk('IDAT', deflateSync(Buffer.from([0, 255, 0, 0, 255]))),
    chunk('IEND', Buffer.alloc(0)),
  ])
  const comment = Buffer.alloc(bytes - head.length - tail.length - 12)
  for (let at = 0; at + 4 <= comment.length; at += 4) comment.writeUInt32LE((at * 2_654_435_761) >>> 0, at)
  return Buffer.concat([head, chunk('npAd', comment), tail])
}

function chunk(type: string, data: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const check = Buffer.alloc(4)
  check.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, check])
}
