import { expect, test } from 'vitest'
import {
  decodeImage,
  encodeJpeg,
  encodePng,
  encodeWebp,
  hasTransparentPixel,
  type Pixels,
} from '../../src/files/codecs.ts'
import { sniffMediaType } from '../../src/files/media-type.ts'
import { amount } from '../support/sample.ts'
import { pngBytes } from '../support/image-bytes.ts'
import { maskPng, meanDifference, testPicture } from '../support/test-images.ts'

/** Its alpha falls from left to right. */
const slope = (width: number, height: number) =>
  testPicture(width, height, (x) => 255 - Math.floor((x / width) * 255))

test('a PNG keeps every pixel and its alpha', async () => {
  const picture = slope(37, 23)
  const bytes = await encodePng(picture)
  expect(sniffMediaType(bytes)).toBe('image/png')
  expect(await decodeImage(bytes, 'image/png')).toMatchObject(picture)
})

test('a JPEG is decoded nearly the same, and a lower quality makes it smaller', async () => {
  const picture = testPicture(64, 48)
  const bytes = await encodeJpeg(picture, 95)
  expect(sniffMediaType(bytes)).toBe('image/jpeg')
  expect(meanDifference(await decodeImage(bytes, 'image/jpeg'), picture)).toBeLessThan(4)
  expect((await encodeJpeg(picture, 5)).length).toBeLessThan(bytes.length)
})

test('a WebP is decoded nearly the same, with exactly its alpha', async () => {
  const [opaque, picture] = [testPicture(64, 48), slope(64, 48)]
  const bytes = await encodeWebp(picture, 90)
  expect(sniffMediaType(bytes)).toBe('image/webp')
  const alphas = ({ data }: Pixels) => data.filter((_, at) => at % 4 === 3)
  expect(alphas(await decodeImage(bytes, 'image/webp'))).toEqual(alphas(picture))
  expect(meanDifference(await decodeImage(await encodeWebp(opaque, 90), 'image/webp'), opaque)).toBeLessThan(
    9,
  )
})

test('pixels that are a part of a larger buffer are encoded as that part', async () => {
  const picture = slope(8, 8)
  const buffer = new Uint8ClampedArray(1000)
  buffer.set(picture.data, 500)
  const part = { ...picture, data: buffer.subarray(500, 500 + picture.data.length) }
  expect(await decodeImage(await encodePng(part), 'image/png')).toMatchObject(picture)
})

const damaged = { code: 'damaged_media', exitCode: 8 }

test.each([
  ['image/png', encodePng],
  ['image/jpeg', (picture: Pixels) => encodeJpeg(picture, 90)],
  ['image/webp', (picture: Pixels) => encodeWebp(picture, 90)],
] as const)(
  'broken bytes of %s are refused, and whole ones after them still decode',
  async (type, encode) => {
    const bytes = await encode(slope(40, 40))
    for (const broken of [new Uint8Array(0), bytes.subarray(0, 20), bytes.map((byte) => byte ^ 0x55)]) {
      await expect(decodeImage(broken, type)).rejects.toMatchObject(damaged)
    }
    expect((await decodeImage(bytes, type)).width).toBe(40)
  },
)

test('any number of broken PNGs leaves the decoder whole', async () => {
  const bytes = await encodePng(slope(8, 8))
  for (let count = amount(500, 5_000); count > 0; count--) {
    await decodeImage(bytes.subarray(0, 50), 'image/png').catch(() => {})
  }
  expect((await decodeImage(bytes, 'image/png')).width).toBe(8)
})

test('a type without a decoder is named', async () => {
  const error = { ...damaged, message: 'There is no decoder for image/gif.' }
  await expect(decodeImage(new Uint8Array(8), 'image/gif')).rejects.toMatchObject(error)
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

test('a mask and a WebP are judged, too, and what has no alpha has none', async () => {
  expect(await hasTransparentPixel(Buffer.from(await maskPng(64)))).toBe(true)
  expect(await hasTransparentPixel(await encodeWebp(slope(8, 8), 80))).toBe(true)
  expect(await hasTransparentPixel(await encodeWebp(testPicture(8, 8), 80))).toBe(false)
  expect(await hasTransparentPixel(await encodeJpeg(slope(8, 8), 80))).toBe(false)
})

test.each<[string, (mask: Buffer) => Buffer]>([
  ['cut in its pixels', (mask) => mask.subarray(0, mask.length >> 2)],
  ['damaged in its pixels', (mask) => Buffer.from(mask).fill(0x55, 50, 80)],
  ['without pixels', (mask) => mask.subarray(0, 33)],
  ['empty', () => Buffer.alloc(0)],
  ['text', () => Buffer.from('no picture at all, but a few words and more of them')],
  ['enormous', () => pngBytes({ width: 5001, height: 5000 })],
])('a mask that is %s is not judged', async (_, change) => {
  const closed = Buffer.from(await encodePng(testPicture(64, 64)))
  expect(await hasTransparentPixel(change(closed))).toBeUndefined()
})
