import { describe, expect, test } from 'vitest'
import {
  decodeImage,
  encodeJpeg,
  encodePng,
  encodeWebp,
  type Pixels,
  hasTransparentPixel,
} from '../../src/files/codecs.ts'
import { sniffMediaType } from '../../src/files/media-type.ts'
import { amount } from '../support/sample.ts'
import { pngBytes } from '../support/image-bytes.ts'
import { maskPng, testPicture } from '../support/test-images.ts'

/** A slope of colours whose alpha falls from left to right. */
function slope(width: number, height: number, isOpaque = false): Pixels {
  const data = new Uint8ClampedArray(width * height * 4)
  for (let at = 0; at < width * height; at++) {
    const x = at % width
    const y = Math.floor(at / width)
    data.set([(x / width) * 255, (y / height) * 255, 90, isOpaque ? 255 : 255 - (x / width) * 255], at * 4)
  }
  return { data, width, height }
}

function largestDifference(a: Pixels, b: Pixels): number {
  return a.data.reduce((most, value, at) => Math.max(most, Math.abs(value - b.data[at]!)), 0)
}

test('a PNG keeps every pixel and its alpha', async () => {
  const picture = slope(37, 23)
  const bytes = await encodePng(picture)
  expect(sniffMediaType(bytes)).toBe('image/png')
  expect(await decodeImage(bytes, 'image/png')).toMatchObject(picture)
})

test('a JPEG is decoded nearly the same, and a lower quality makes it smaller', async () => {
  const picture = slope(64, 48, true)
  const bytes = await encodeJpeg(picture, 95)
  expect(sniffMediaType(bytes)).toBe('image/jpeg')
  const decoded = await decodeImage(bytes, 'image/jpeg')
  expect([decoded.width, decoded.height]).toEqual([64, 48])
  expect(largestDifference(decoded, picture)).toBeLessThan(12)
  expect((await encodeJpeg(picture, 5)).length).toBeLessThan(bytes.length)
})

test('a WebP is decoded nearly the same, with exactly its alpha', async () => {
  const picture = slope(64, 48)
  const bytes = await encodeWebp(picture, 90)
  expect(sniffMediaType(bytes)).toBe('image/webp')
  const decoded = await decodeImage(bytes, 'image/webp')
  const alphas = ({ data }: Pixels) => data.filter((_, at) => at % 4 === 3)
  expect(alphas(decoded)).toEqual(alphas(picture))
  const opaque = slope(64, 48, true)
  const again = await decodeImage(await encodeWebp(opaque, 90), 'image/webp')
  expect(largestDifference(again, opaque)).toBeLessThan(16)
})

test('pixels that are a part of a larger buffer are encoded as that part', async () => {
  const picture = slope(8, 8)
  const buffer = new Uint8ClampedArray(1000)
  buffer.set(picture.data, 500)
  const part = { ...picture, data: buffer.subarray(500, 500 + picture.data.length) }
  expect(await decodeImage(await encodePng(part), 'image/png')).toMatchObject(picture)
})

describe('broken bytes', () => {
  test.each([
    ['image/png', encodePng],
    ['image/jpeg', (picture: Pixels) => encodeJpeg(picture, 90)],
    ['image/webp', (picture: Pixels) => encodeWebp(picture, 90)],
  ] as const)('%s: refused, and whole ones after them still decode', async (mediaType, encode) => {
    const bytes = await encode(slope(40, 40))
    for (const broken of [new Uint8Array(0), bytes.subarray(0, 20), bytes.map((byte) => byte ^ 0x55)]) {
      await expect(decodeImage(broken, mediaType)).rejects.toMatchObject({
        code: 'damaged_media',
        exitCode: 8,
      })
    }
    expect((await decodeImage(bytes, mediaType)).width).toBe(40)
  })

  test('any number of broken PNGs leaves the decoder whole', async () => {
    const bytes = await encodePng(slope(8, 8))
    for (let count = amount(500, 5_000); count > 0; count--) {
      await decodeImage(bytes.subarray(0, 50), 'image/png').catch(() => {})
    }
    expect((await decodeImage(bytes, 'image/png')).width).toBe(8)
  })
})

test('a type without a decoder is named', async () => {
  await expect(decodeImage(new Uint8Array(8), 'image/gif')).rejects.toMatchObject({
    code: 'damaged_media',
    message: 'There is no decoder for image/gif.',
  })
})

test.each([
  // Of a picture, one pixel with alpha below 255 is enough.
  [254, undefined, true],
  [255, undefined, false],
  // The hole of a mask has no alpha at all.
  [0, 0, true],
  [1, 0, false],
])('one pixel of alpha %i among a million, up to %s: %s', async (alpha, maxAlpha, expected) => {
  const alphaAt = (x: number, y: number) => (x === 1023 && y === 1023 ? alpha : 255)
  const png = Buffer.from(await encodePng(testPicture(1024, 1024, alphaAt)))
  expect(await hasTransparentPixel(png, maxAlpha)).toBe(expected)
})

test('a WebP is judged, too, and what has no alpha has none', async () => {
  const open = testPicture(8, 8, (x) => (x === 7 ? 0 : 255))
  expect(await hasTransparentPixel(await encodeWebp(open, 80))).toBe(true)
  expect(
    await hasTransparentPixel(
      await encodeWebp(
        testPicture(8, 8, () => 255),
        80,
      ),
    ),
  ).toBe(false)
  expect(await hasTransparentPixel(await encodeJpeg(open, 80))).toBe(false)
})

test.each<[string, (mask: Buffer) => Buffer]>([
  ['cut in its pixels', (mask) => mask.subarray(0, mask.length >> 2)],
  ['damaged in its pixels', (mask) => Buffer.from(mask).fill(0x55, 50, 80)],
  ['without pixels', (mask) => mask.subarray(0, 33)],
  ['without anything', (mask) => mask.subarray(0, 8)],
  ['empty', () => Buffer.alloc(0)],
  ['text', () => Buffer.from('no picture at all, but a few words and more of them')],
  ['enormous', () => pngBytes({ width: 5001, height: 5000 })],
])('a mask that is %s is not judged', async (_, change) => {
  const closed = Buffer.from(await encodePng(testPicture(64, 64, () => 255)))
  expect(await hasTransparentPixel(change(closed))).toBeUndefined()
})

test('the usual mask is open', async () => {
  expect(await hasTransparentPixel(Buffer.from(await maskPng(64)))).toBe(true)
})
