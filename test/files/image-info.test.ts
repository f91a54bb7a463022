import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeJpeg, encodePng, encodeWebp } from '../../src/files/codecs.ts'
import { imageInfoHeadBytes, readImageInfo } from '../../src/files/image-info.ts'
import { gifBytes, jpegBytes, jpegSegment, pngBytes, pngChunk, webpBytes } from '../support/image-bytes.ts'
import { runs } from '../support/sample.ts'

describe('PNG', () => {
  test.each<[number, readonly number[], boolean]>([
    [0, [1, 2, 4, 8, 16], false],
    [2, [8, 16], false],
    [3, [1, 2, 4, 8], false],
    [4, [8, 16], true],
    [6, [8, 16], true],
  ])('colour type %i of the depths %j has alpha: %s', (colourType, depths, hasAlpha) => {
    for (const depth of depths) {
      expect(readImageInfo(pngBytes({ width: 300, height: 70_000, colourType, depth, rows: [] }))).toEqual({
        format: 'png',
        mediaType: 'image/png',
        width: 300,
        height: 70_000,
        hasAlpha,
      })
    }
  })

  test.each([0, 2, 3])('colour type %i is transparent with tRNS, wherever that is', (colourType) => {
    const text = pngChunk('tEXt', Buffer.alloc(100_000, 'IDAT'))
    const chunks = [text, pngChunk('tRNS', Buffer.of(0, 0))]
    expect(readImageInfo(pngBytes({ colourType, chunks }))).toMatchObject({ hasAlpha: true })
  })

  test('a chunk after the pixels, or words inside a chunk, are no transparency', () => {
    const hidden = pngChunk('tEXt', Buffer.from('\0\0\0\x02tRNS', 'latin1'))
    const late = Buffer.concat([
      pngBytes({ colourType: 2, chunks: [hidden] }),
      pngChunk('tRNS', Buffer.alloc(6)),
    ])
    expect(readImageInfo(late)).toMatchObject({ hasAlpha: false })
  })

  test.each<[string, (bytes: Buffer) => void]>([
    ['no width', (bytes) => bytes.writeUInt32BE(0, 16)],
    ['no height', (bytes) => bytes.writeUInt32BE(0, 20)],
    ['an unknown colour type', (bytes) => (bytes[25] = 5)],
    ['a depth that its colour type cannot have', (bytes) => (bytes[24] = 4)],
    ['another first chunk', (bytes) => bytes.write('CgBI', 12, 'latin1')],
    ['another first byte', (bytes) => (bytes[0] = 0x88)],
  ])('%s is refused', (_, damage) => {
    const bytes = pngBytes()
    damage(bytes)
    expect(readImageInfo(bytes)).toBeUndefined()
  })
})

describe('JPEG', () => {
  const found = { format: 'jpeg', mediaType: 'image/jpeg', width: 640, height: 480, hasAlpha: false }
  const shape = { width: 640, height: 480 }

  test.each([0xc0, 0xc1, 0xc2, 0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf])(
    'the frame header may be %i',
    (frame) => {
      expect(readImageInfo(jpegBytes({ ...shape, frame }))).toEqual(found)
    },
  )

  test('tables that share the row of markers are not the frame', () => {
    const before = [0xc4, 0xc8, 0xcc].map((marker) => jpegSegment(marker, Buffer.alloc(20, 7)))
    expect(readImageInfo(jpegBytes({ ...shape, before }))).toEqual(found)
  })

  test('the thumbnail inside EXIF, fill bytes and a long profile are passed over', () => {
    const thumbnail = jpegBytes({ width: 160, height: 120 })
    const before = [
      jpegSegment(0xe1, Buffer.concat([Buffer.from('Exif\0\0'), thumbnail])),
      Buffer.of(0xff, 0xff, 0xff),
      ...Array.from({ length: 10 }, () => jpegSegment(0xe2, Buffer.alloc(65_533, 0xff))),
      Buffer.of(0xff, 0x01),
    ]
    const bytes = jpegBytes({ ...shape, before })
    expect(readImageInfo(bytes)).toEqual(found)
    expect(bytes.length).toBeLessThan(imageInfoHeadBytes)
  })

  test.each<[string, Buffer]>([
    ['a scan before any frame', Buffer.of(0xff, 0xd8, 0xff, 0xda, 0, 2, 0xff, 0xc0, 0, 11)],
    ['an end before any frame', Buffer.of(0xff, 0xd8, 0xff, 0xd9, 0, 0, 0, 0, 0, 0)],
    ['a segment shorter than its length', Buffer.of(0xff, 0xd8, 0xff, 0xe0, 0, 1, 0xff, 0xc0, 0, 11)],
    ['no marker after a segment', Buffer.of(0xff, 0xd8, 0xff, 0xe0, 0, 2, 0x00, 0xc0, 0, 11)],
    ['a height told later', jpegBytes({ width: 5, height: 0 })],
  ])('%s is refused', (_, bytes) => {
    expect(readImageInfo(bytes)).toBeUndefined()
  })
})

describe('WebP', () => {
  const key = [0x10, 0, 0, 0x9d, 0x01, 0x2a]

  test('lossy: 14 bits each, the scaling bits left out', () => {
    const bytes = webpBytes('VP8 ', Buffer.of(...key, 0x34, 0x52, 0x78, 0x96))
    expect(readImageInfo(bytes)).toEqual({
      format: 'webp',
      mediaType: 'image/webp',
      width: 0x1234,
      height: 0x1678,
      hasAlpha: false,
    })
  })

  test.each([false, true])('lossless, with alpha: %s', (hasAlpha) => {
    const content = Buffer.alloc(5)
    content[0] = 0x2f
    content.writeUInt32LE((16_383 | (7 << 14) | (hasAlpha ? 1 << 28 : 0)) >>> 0, 1)
    expect(readImageInfo(webpBytes('VP8L', content))).toMatchObject({ width: 16_384, height: 8, hasAlpha })
  })

  test.each([
    [0x10, true],
    [0x2e, false],
  ])('extended with the flags %i has alpha: %s', (flags, hasAlpha) => {
    const content = Buffer.of(flags, 0, 0, 0, 0xff, 0xff, 0x01, 0x09, 0, 0)
    expect(readImageInfo(webpBytes('VP8X', content))).toMatchObject({ width: 131_072, height: 10, hasAlpha })
  })

  test.each<[string, Buffer]>([
    ['a frame that is no key frame', webpBytes('VP8 ', Buffer.of(0x11, ...key.slice(1), 1, 0, 1, 0))],
    ['a frame without its fixed bytes', webpBytes('VP8 ', Buffer.of(...key.slice(0, 5), 0x2b, 1, 0, 1, 0))],
    ['a lossless picture of another version', webpBytes('VP8L', Buffer.of(0x2f, 0, 0, 0, 0x20))],
    ['another first chunk', webpBytes('ANIM', Buffer.alloc(20))],
    [
      'another kind of RIFF',
      Buffer.from(webpBytes('VP8L', Buffer.alloc(9)).toString('latin1').replace('WEBP', 'WAVE'), 'latin1'),
    ],
  ])('%s is refused', (_, bytes) => {
    expect(readImageInfo(bytes)).toBeUndefined()
  })
})

describe('GIF', () => {
  test.each([0, 2, 256])('with a palette of %i colours', (colours) => {
    for (const transparent of [false, true]) {
      expect(readImageInfo(gifBytes({ width: 500, height: 3, transparent, colours }))).toEqual({
        format: 'gif',
        mediaType: 'image/gif',
        width: 500,
        height: 3,
        hasAlpha: transparent,
      })
    }
  })

  test('of the older kind', () => {
    const bytes = gifBytes({ width: 4, height: 5 })
    bytes.write('GIF87a', 'latin1')
    expect(readImageInfo(bytes)).toMatchObject({ width: 4, height: 5 })
  })
})

test('what real encoders write is read', async () => {
  const [width, height] = [37, 11]
  const data = new Uint8ClampedArray(width * height * 4).map((_, at) => (at * 7) % 256)
  const picture = { data, width, height }
  expect(readImageInfo(await encodePng(picture))).toMatchObject({
    format: 'png',
    width,
    height,
    hasAlpha: true,
  })
  expect(readImageInfo(await encodeJpeg(picture, 80))).toMatchObject({ format: 'jpeg', width, height })
  expect(readImageInfo(await encodeWebp(picture, 80))).toMatchObject({
    format: 'webp',
    width,
    height,
    hasAlpha: true,
  })
  data.forEach((_, at) => at % 4 === 3 && (data[at] = 255))
  expect(readImageInfo(await encodeWebp(picture, 80))).toMatchObject({ format: 'webp', hasAlpha: false })
})

const samples = [
  pngBytes({ colourType: 3, chunks: [pngChunk('tRNS', Buffer.of(0))] }),
  jpegBytes({ before: [jpegSegment(0xe0, Buffer.alloc(14))] }),
  webpBytes('VP8X', Buffer.alloc(10)),
  webpBytes('VP8L', Buffer.of(0x2f, 0, 0, 0, 0)),
  gifBytes({ transparent: true }),
]

test.each(samples)('a header that is cut anywhere gives nothing, or what the whole one gives', (bytes) => {
  const { width, height } = readImageInfo(bytes)!
  const found = Array.from({ length: bytes.length }, (_, length) => readImageInfo(bytes.subarray(0, length)))
  expect(found.filter((info) => info && (info.width !== width || info.height !== height))).toEqual([])
})

test('no bytes make it fail or run for ever', () => {
  const start = fc.constantFrom(...samples.map((bytes) => bytes.subarray(0, 16)))
  fc.assert(
    fc.property(start, fc.uint8Array({ maxLength: 400 }), (head, rest) => {
      const { width, height } = readImageInfo(Buffer.concat([head, rest])) ?? { width: 1, height: 1 }
      expect(width * height).toBeGreaterThan(0)
    }),
    runs(3000),
  )
})
