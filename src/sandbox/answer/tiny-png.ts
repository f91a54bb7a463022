import { crc32, deflateSync } from 'node:zlib'
import type { Random } from '../seeded-random.ts'

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const side = 32

/** A small valid PNG: a slope between two colours of chance. */
export function tinyPng(random: Random): Buffer {
  const [from, to] = [colour(random), colour(random)]
  const rows = Array.from({ length: side }, (_, y) => {
    const pixels = Array.from({ length: side }, (__, x) => blend(from, to, (x + y) / (2 * side - 2)))
    // Every row begins with its filter type, 0 for none.
    return [0, ...pixels.flat()]
  })
  const header = Buffer.alloc(13)
  header.writeUInt32BE(side, 0)
  header.writeUInt32BE(side, 4)
  // 8 bits a channel, colour type 2 (RGB); compression, filter and interlace methods stay 0.
  header.set([8, 2], 8)
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.from(rows.flat()))),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const frame = Buffer.alloc(8)
  frame.writeUInt32BE(data.length, 0)
  frame.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)])
}

function colour(random: Random): number[] {
  return [random(), random(), random()].map((share) => Math.floor(share * 256))
}

function blend(from: readonly number[], to: readonly number[], share: number): number[] {
  return from.map((value, index) => Math.round(value + (to[index]! - value) * share))
}
