import { expect, test } from 'vitest'
import { encodeJpeg, encodePng, encodeWebp, hasTransparentPixel } from '../../src/files/codecs.ts'
import { pngBytes } from '../support/image-bytes.ts'
import { maskPng, testPicture } from '../support/test-images.ts'

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
