import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { encodeJpeg, encodePng, encodeWebp } from '../../src/files/codecs.ts'
import { imageInfoHeadBytes, imageKind, readImageInfo } from '../../src/files/image-info.ts'
import { FileInspector } from '../../src/files/inspect-file.ts'
import { describeMedia } from '../../src/files/media-file.ts'
import { gifBytes, jpegBytes, jpegSegment, pngBytes, pngChunk, webpBytes } from '../support/image-bytes.ts'
import { runs } from '../support/sample.ts'
import { testPicture } from '../support/test-images.ts'
import { box, ftyp } from '../support/video-bytes.ts'

test.each<[number, readonly number[], boolean]>([
  [0, [1, 2, 4, 8, 16], false],
  [2, [8, 16], false],
  [3, [1, 2, 4, 8], false],
  [4, [8, 16], true],
  [6, [8, 16], true],
])('a PNG of colour type %i and the depths %j has alpha: %s', (colourType, depths, hasAlpha) => {
  const found = { format: 'png', mediaType: 'image/png', width: 300, height: 70_000, hasAlpha }
  for (const depth of depths) {
    const bytes = pngBytes({ width: 300, height: 70_000, colourType, depth, rows: [] })
    expect(readImageInfo(bytes)).toEqual(found)
  }
})

test.each([0, 2, 3])('a PNG of colour type %i is transparent with tRNS, wherever that is', (colourType) => {
  const text = pngChunk('tEXt', Buffer.alloc(100_000, 'IDAT'))
  const chunks = [text, pngChunk('tRNS', Buffer.of(0, 0))]
  expect(readImageInfo(pngBytes({ colourType, chunks }))).toMatchObject({ hasAlpha: true })
})

test('a chunk after the pixels, or words inside a chunk, are no transparency', () => {
  const hidden = pngChunk('tEXt', Buffer.from('\0\0\0\x02tRNS', 'latin1'))
  const bytes = pngBytes({ colourType: 2, chunks: [hidden] })
  const late = Buffer.concat([bytes, pngChunk('tRNS', Buffer.alloc(6))])
  expect(readImageInfo(late)).toMatchObject({ hasAlpha: false })
})

const large = { width: 640, height: 480 }
const jpeg = { format: 'jpeg', mediaType: 'image/jpeg', ...large, hasAlpha: false }

test.each([0xc0, 0xc1, 0xc2, 0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf])(
  'the frame header of a JPEG may be %i',
  (frame) => {
    expect(readImageInfo(jpegBytes({ ...large, frame }))).toEqual(jpeg)
  },
)

test('tables that share the row of markers are not the frame of a JPEG', () => {
  const before = [0xc4, 0xc8, 0xcc].map((marker) => jpegSegment(marker, Buffer.alloc(20, 7)))
  expect(readImageInfo(jpegBytes({ ...large, before }))).toEqual(jpeg)
})

test('the thumbnail inside EXIF, fill bytes and a long profile are passed over', () => {
  const thumbnail = jpegBytes({ width: 160, height: 120 })
  const before = [
    jpegSegment(0xe1, Buffer.concat([Buffer.from('Exif\0\0'), thumbnail])),
    Buffer.of(0xff, 0xff, 0xff),
    ...Array.from({ length: 10 }, () => jpegSegment(0xe2, Buffer.alloc(65_533, 0xff))),
    Buffer.of(0xff, 0x01),
  ]
  const bytes = jpegBytes({ ...large, before })
  expect(readImageInfo(bytes)).toEqual(jpeg)
  expect(bytes.length).toBeLessThan(imageInfoHeadBytes)
})

const key = [0x10, 0, 0, 0x9d, 0x01, 0x2a]

/** The head of a lossless picture of 16384 x 8. */
function lossless(alpha: 0 | 1) {
  const content = Buffer.of(0x2f, 0, 0, 0, 0)
  content.writeUInt32LE((16_383 | (7 << 14) | (alpha << 28)) >>> 0, 1)
  return content
}

test.each<[string, string, Buffer, object]>([
  [
    'lossy, without the scaling bits',
    'VP8 ',
    Buffer.of(...key, 0x34, 0x52, 0x78, 0x96),
    [0x1234, 0x1678, false],
  ],
  ['lossless', 'VP8L', lossless(0), [16_384, 8, false]],
  ['lossless with alpha', 'VP8L', lossless(1), [16_384, 8, true]],
  ['extended with alpha', 'VP8X', Buffer.of(0x10, 0, 0, 0, 0xff, 0xff, 1, 9, 0, 0), [131_072, 10, true]],
  [
    'extended with other flags',
    'VP8X',
    Buffer.of(0x2e, 0, 0, 0, 0xff, 0xff, 1, 9, 0, 0),
    [131_072, 10, false],
  ],
])('a WebP: %s', (_, name, content, expected) => {
  const { format, mediaType, width, height, hasAlpha } = readImageInfo(webpBytes(name, content))!
  expect([format, mediaType, [width, height, hasAlpha]]).toEqual(['webp', 'image/webp', expected])
})

test.each([0, 2, 256])('a GIF with a palette of %i colours, of both kinds', (colours) => {
  for (const transparent of [false, true]) {
    const bytes = gifBytes({ width: 500, height: 3, transparent, colours })
    const found = { format: 'gif', mediaType: 'image/gif', width: 500, height: 3, hasAlpha: transparent }
    expect(readImageInfo(bytes)).toEqual(found)
    bytes.write('GIF87a', 'latin1')
    expect(readImageInfo(bytes)).toMatchObject({ width: 500, height: 3 })
  }
})

/** A PNG of which some bytes are others. */
function changed(at: number, ...bytes: readonly number[]) {
  const png = pngBytes()
  png.set(bytes, at)
  return png
}

test.each<[string, Buffer]>([
  ['a PNG without width', changed(16, 0, 0, 0, 0)],
  ['a PNG without height', changed(20, 0, 0, 0, 0)],
  ['a PNG of an unknown colour type', changed(25, 5)],
  ['a PNG of a depth that its colour type cannot have', changed(24, 4)],
  ['a PNG with another first chunk', changed(12, ...Buffer.from('CgBI'))],
  ['a PNG with another first byte', changed(0, 0x88)],
  ['a JPEG with a scan before any frame', Buffer.of(0xff, 0xd8, 0xff, 0xda, 0, 2, 0xff, 0xc0, 0, 11)],
  ['a JPEG that ends before any frame', Buffer.of(0xff, 0xd8, 0xff, 0xd9, 0, 0, 0, 0, 0, 0)],
  ['a JPEG of a segment shorter than its length', Buffer.of(0xff, 0xd8, 0xff, 0xe0, 0, 1, 0xff, 0xc0, 0, 11)],
  ['a JPEG without a marker after a segment', Buffer.of(0xff, 0xd8, 0xff, 0xe0, 0, 2, 0x00, 0xc0, 0, 11)],
  ['a JPEG whose height is told later', jpegBytes({ width: 5, height: 0 })],
  ['a WebP whose frame is no key frame', webpBytes('VP8 ', Buffer.of(0x11, ...key.slice(1), 1, 0, 1, 0))],
  ['a WebP without its fixed bytes', webpBytes('VP8 ', Buffer.of(...key.slice(0, 5), 0x2b, 1, 0, 1, 0))],
  ['a lossless WebP of another version', webpBytes('VP8L', Buffer.of(0x2f, 0, 0, 0, 0x20))],
  ['a WebP with another first chunk', webpBytes('ANIM', Buffer.alloc(20))],
  ['another kind of RIFF', Buffer.from(webpBytes('VP8L', lossless(0)).fill('WAVE', 8, 12))],
])('%s is refused', (_, bytes) => {
  expect(readImageInfo(bytes)).toBeUndefined()
})

test('what real encoders write is read', async () => {
  const size = { width: 37, height: 11 }
  const [clear, opaque] = [testPicture(37, 11, (x) => x), testPicture(37, 11)]
  const png = { format: 'png', ...size, hasAlpha: true }
  expect(readImageInfo(await encodePng(clear))).toMatchObject(png)
  expect(readImageInfo(await encodeJpeg(clear, 80))).toMatchObject({ format: 'jpeg', ...size })
  const webp = { format: 'webp', ...size }
  expect(readImageInfo(await encodeWebp(clear, 80))).toMatchObject({ ...webp, hasAlpha: true })
  expect(readImageInfo(await encodeWebp(opaque, 80))).toMatchObject({ ...webp, hasAlpha: false })
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

function inspect(bytes: Uint8Array) {
  const inspector = new FileInspector(512)
  // In pieces, as a download comes.
  for (let at = 0; at < bytes.length; at += 40_000) inspector.add(bytes.subarray(at, at + 40_000))
  const { mediaType, facts, integrity } = describeMedia(imageKind, inspector)
  return { mediaType, width: facts.width, state: integrity.state }
}

const noise = Buffer.from(Array.from({ length: 3000 }, (_, at) => (at * at * 31) % 256))
const avif = Buffer.concat([ftyp('avif'), box('meta', Buffer.alloc(300)), box('mdat', noise)])
const small = { width: 3, height: 2 }
const gif = gifBytes(small)
const riffChunk = (name: string, content: Uint8Array) => webpBytes(name, content).subarray(12)
/** Two frames, as an animation has them. */
const animated = webpBytes(
  'VP8X',
  Buffer.of(2, 0, 0, 0, 2, 0, 0, 1, 0, 0),
  Buffer.concat([riffChunk('ANIM', Buffer.alloc(6)), riffChunk('ANMF', noise), riffChunk('ANMF', noise)]),
)
/** A profile with pictures of its own, longer than what is kept of the beginning. */
const longHead = Array.from({ length: 20 }, () => jpegSegment(0xeb, Buffer.alloc(65_533, jpegBytes())))
const privateChunk = pngChunk('caBX', Buffer.alloc(2_000_000, 'IEND'))
const bitmap = Buffer.concat([Buffer.from('BM\x3a\0\0\0\0\0\0\0', 'latin1'), noise])

test.each<[string, Uint8Array, string, number | null]>([
  ['AVIF', avif, 'image/avif', null],
  ['an animated WebP', animated, 'image/webp', 3],
  ['a PNG with a private chunk', pngBytes({ ...small, chunks: [privateChunk] }), 'image/png', 3],
  ['a PNG with other data behind it', Buffer.concat([pngBytes(small), noise]), 'image/png', 3],
  ['a JPEG with a film behind it', Buffer.concat([jpegBytes(small), avif]), 'image/jpeg', 3],
  ['a JPEG of which the size stands late', jpegBytes({ ...small, before: longHead }), 'image/jpeg', 3],
  ['a GIF with a comment behind it', Buffer.concat([gif, Buffer.from('made by hand')]), 'image/gif', 3],
  ['a GIF with a zero too many', Buffer.concat([gif.subarray(0, -1), Buffer.of(0, 0x3b)]), 'image/gif', 3],
])('%s is whole', (_, bytes, mediaType, width) => {
  expect(inspect(bytes)).toEqual({ mediaType, width, state: 'whole' })
})

test.each<[string, Uint8Array, string]>([
  ['an AVIF cut in its data', avif.subarray(0, -1), 'short'],
  ['an AVIF cut in its index', avif.subarray(0, 200), 'short'],
  ['an AVIF whose data may be in its index', avif.subarray(0, -3008), 'unknown'],
  ['a GIF without its last byte', gif.subarray(0, -1), 'short'],
  ['a GIF cut behind a byte like its last', Buffer.concat([gif.subarray(0, -5), Buffer.of(0x3b)]), 'short'],
  ['an animated WebP without its last frame', animated.subarray(0, -3008), 'short'],
  ['a bitmap', bitmap, 'unchecked'],
  ['a TIFF', Buffer.concat([Buffer.from('II*\0', 'latin1'), noise]), 'unchecked'],
  ['data of an unknown type', noise, 'unchecked'],
])('%s is not whole', (_, bytes, state) => {
  expect(inspect(bytes).state).toBe(state)
})
