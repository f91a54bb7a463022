import { deflateSync } from 'node:zlib'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeImage, encodePng } from '../../src/files/codecs.ts'
import { hasTransparentPixel } from '../../src/files/png-alpha.ts'
import { pngChunk } from '../support/image-bytes.ts'
import { maskPng, testPicture } from '../support/test-images.ts'
import { runs } from '../support/sample.ts'

interface Shape {
  readonly width: number
  readonly height: number
  readonly depth: number
  readonly colourType: number
  readonly isInterlaced?: boolean
  readonly chunks?: readonly Uint8Array[]
}

/** @param rows every row after the type of its filter, in the order of the file */
function png(
  { width, height, depth, colourType, isInterlaced = false, chunks = [] }: Shape,
  rows: Uint8Array,
) {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([depth, colourType, 0, 0, isInterlaced ? 1 : 0], 8)
  const data = deflateSync(rows)
  const middle = data.length >> 1
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', header),
    ...chunks,
    pngChunk('IDAT', data.subarray(0, middle)),
    pngChunk('IDAT', data.subarray(middle)),
    pngChunk('IEND', Buffer.alloc(0)),
  ])
}

/** Bytes of the rows, filters included, of each pass (PNG specification, 8.2). */
function rowLengths({ width, height, isInterlaced }: Shape, bitsPerPixel: number): number[] {
  const across = (columns: number) => 1 + Math.ceil((columns * bitsPerPixel) / 8)
  if (!isInterlaced) return Array.from({ length: height }, () => across(width))
  const [starts, steps] = [
    [
      [0, 0],
      [4, 0],
      [0, 4],
      [2, 0],
      [0, 2],
      [1, 0],
      [0, 1],
    ],
    [
      [8, 8],
      [8, 8],
      [4, 8],
      [4, 4],
      [2, 4],
      [2, 2],
      [1, 2],
    ],
  ]
  return starts!.flatMap(([x, y], pass) => {
    const columns = Math.ceil((width - x!) / steps![pass]![0]!)
    const lines = Math.ceil((height - y!) / steps![pass]![1]!)
    return columns <= 0 ? [] : Array.from({ length: Math.max(0, lines) }, () => across(columns))
  })
}

const samples: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }
const kinds = [
  [0, 1],
  [0, 2],
  [0, 4],
  [0, 8],
  [2, 8],
  [3, 1],
  [3, 2],
  [3, 4],
  [3, 8],
  [4, 8],
  [6, 8],
] as const

describe.each(kinds)('colour type %i of depth %i', (colourType, depth) => {
  test('is read as the decoder reads it, with any filters, interlaced or not', async () => {
    const seen = new Set<boolean>()
    const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
    const anyShape = fc.record({
      width: fc.integer({ min: 1, max: 9 }),
      height: fc.integer({ min: 1, max: 9 }),
      isInterlaced: fc.boolean(),
    })
    const images = anyShape.chain((size) => {
      const lengths = rowLengths({ ...size, depth, colourType }, samples[colourType]! * depth)
      const total = lengths.reduce((sum, length) => sum + length, 0)
      const colours = 2 ** depth
      return fc.record({
        size: fc.constant(size),
        lengths: fc.constant(lengths),
        content: fc.oneof(
          bytes(total),
          bytes(total).map((all) => all.map((byte) => byte | 1)),
          bytes(total).map((all) => all.map((byte) => byte & 1)),
        ),
        filters: fc.array(fc.integer({ min: 0, max: 4 }), {
          minLength: lengths.length,
          maxLength: lengths.length,
        }),
        palette: bytes(3 * colours),
        transparency:
          colourType === 3
            ? fc.array(fc.constantFrom(0, 1, 128, 255), { minLength: 1, maxLength: colours })
            : fc.array(fc.integer({ min: 0, max: 1 }), { minLength: 3, maxLength: 3 }),
      })
    })
    await fc.assert(
      fc.asyncProperty(images, async ({ size, lengths, content, filters, palette, transparency }) => {
        let at = 0
        for (const [row, length] of lengths.entries()) {
          content[at] = filters[row]!
          at += length
        }
        const keys = transparency.slice(0, samples[colourType]).flatMap((key) => [0, key])
        const chunks =
          colourType === 3
            ? [pngChunk('PLTE', palette), pngChunk('tRNS', Uint8Array.from(transparency))]
            : colourType < 3
              ? [pngChunk('tRNS', Uint8Array.from(keys))]
              : []
        const image = png({ ...size, depth, colourType, chunks }, content)
        const { data } = await decodeImage(image, 'image/png')
        const expected = data.some((value, index) => index % 4 === 3 && value === 0)
        seen.add(expected)
        expect(await hasTransparentPixel(image)).toBe(expected)
      }),
      runs(150),
    )
    expect(seen.size).toBe(2)
  })
})

test.each<[string, Shape, Uint8Array, boolean]>([
  ['16-bit grey', { width: 1, height: 1, depth: 16, colourType: 4 }, Buffer.of(0, 9, 9, 0, 0), true],
  ['almost nothing', { width: 1, height: 1, depth: 16, colourType: 4 }, Buffer.of(0, 9, 9, 0, 1), false],
  [
    '16-bit colours',
    { width: 1, height: 1, depth: 16, colourType: 6 },
    Buffer.of(0, 9, 9, 9, 9, 9, 9, 0, 0),
    true,
  ],
  [
    'not quite',
    { width: 1, height: 1, depth: 16, colourType: 6 },
    Buffer.of(0, 0, 0, 0, 0, 0, 0, 0, 1),
    false,
  ],
  [
    'a 16-bit colour',
    {
      width: 1,
      height: 1,
      depth: 16,
      colourType: 2,
      chunks: [pngChunk('tRNS', Buffer.of(1, 2, 3, 4, 5, 6))],
    },
    Buffer.of(0, 1, 2, 3, 4, 5, 6),
    true,
  ],
  [
    'a neighbour above that is as near as the corner (Paeth)',
    { width: 2, height: 2, depth: 8, colourType: 4 },
    Buffer.of(0, 0, 10, 0, 6, 4, 0, 2, 0, 250),
    true,
  ],
  ['no alpha at all', { width: 1, height: 1, depth: 8, colourType: 2 }, Buffer.of(0, 0, 0, 0), false],
])('%s', async (_, shape, rows, expected) => {
  expect(await hasTransparentPixel(png(shape, rows))).toBe(expected)
})

test('one open pixel among a million is found, and none is none', async () => {
  const alphaAt = (x: number, y: number) => (x === 1023 && y === 1023 ? 0 : 1)
  expect(await hasTransparentPixel(Buffer.from(await encodePng(testPicture(1024, 1024, alphaAt))))).toBe(true)
  expect(await hasTransparentPixel(Buffer.from(await encodePng(testPicture(1024, 1024, () => 1))))).toBe(
    false,
  )
})

test.each<[string, (mask: Buffer) => Buffer]>([
  ['cut in its pixels', (mask) => mask.subarray(0, mask.length >> 2)],
  ['damaged in its pixels', (mask) => Buffer.from(mask).fill(0x55, 50, 80)],
  ['without pixels', (mask) => mask.subarray(0, 33)],
  ['without anything', (mask) => mask.subarray(0, 8)],
  ['empty', () => Buffer.alloc(0)],
  ['text', () => Buffer.from('no picture at all, but a few words and more of them')],
  ['enormous', () => png({ width: 20_000, height: 20_000, depth: 8, colourType: 6 }, Buffer.alloc(9))],
  ['very wide', () => png({ width: 40_000_000, height: 1, depth: 8, colourType: 6 }, Buffer.alloc(9))],
  ['of no width', () => png({ width: 0, height: 1, depth: 8, colourType: 6 }, Buffer.alloc(9))],
  ['of an unknown colour type', () => png({ width: 1, height: 1, depth: 8, colourType: 5 }, Buffer.alloc(9))],
  [
    'with an unknown filter',
    () => png({ width: 1, height: 1, depth: 8, colourType: 6 }, Buffer.of(5, 1, 1, 1, 1)),
  ],
])('a mask that is %s is not judged', async (_, change) => {
  const closed = Buffer.from(await encodePng(testPicture(64, 64, () => 255)))
  expect(await hasTransparentPixel(change(closed))).toBeUndefined()
})

test('the usual mask is open', async () => {
  expect(await hasTransparentPixel(Buffer.from(await maskPng(64)))).toBe(true)
})
