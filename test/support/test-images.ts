import { encodeJpeg, encodePng, encodeWebp, type Pixels } from '../../src/files/codecs.ts'
import { pngChunk } from './image-bytes.ts'

/** A picture in which every pixel differs from its neighbours, opaque unless the alpha is told. */
export function testPicture(
  width: number,
  height: number,
  alphaAt: (x: number, y: number) => number = () => 255,
): Pixels {
  const data = new Uint8ClampedArray(width * height * 4)
  for (let at = 0; at < width * height; at++) {
    const x = at % width
    const y = Math.floor(at / width)
    data[at * 4] = (x * 255) / width
    data[at * 4 + 1] = (y * 255) / height
    data[at * 4 + 2] = (x * 7 + y * 13) % 256
    data[at * 4 + 3] = alphaAt(x, y)
  }
  return { data, width, height }
}

const encoded = new Map<string, ReturnType<typeof encodeAll>>()

/** PNG with an alpha channel, JPEG and WebP files of that size; encoded once. */
export function testImages(width: number, height = width): ReturnType<typeof encodeAll> {
  const size = `${width}x${height}`
  let images = encoded.get(size)
  if (images === undefined) encoded.set(size, (images = encodeAll(width, height)))
  return images
}

async function encodeAll(width: number, height: number) {
  const picture = testPicture(width, height)
  const encoding = [encodePng(picture), encodeJpeg(picture, 90), encodeWebp(picture, 90)] as const
  const [png, jpeg, webp] = await Promise.all(encoding)
  return { png, jpeg, webp }
}

/** A mask whose middle half, in both directions, is open. */
export function maskPng(width: number, height = width): Promise<Uint8Array> {
  const isOpen = (x: number, y: number) =>
    Math.abs(x / width - 0.5) < 0.25 && Math.abs(y / height - 0.5) < 0.25
  return encodePng(testPicture(width, height, (x, y) => (isOpen(x, y) ? 0 : 255)))
}

/** The same PNG made longer, to exactly so many bytes, by a chunk that decoders pass over. */
export function paddedPng(png: Uint8Array, length: number): Uint8Array {
  const end = png.length - 12
  const padding = pngChunk('paDd', Buffer.alloc(length - png.length - 12))
  return Buffer.concat([png.subarray(0, end), padding, png.subarray(end)])
}

/** The largest difference between two pictures' values, where `isMeant` says so. */
export function largestDifference(
  a: Pixels,
  b: Pixels,
  isMeant: (x: number, y: number) => boolean = () => true,
): number {
  let most = 0
  for (let at = 0; at < a.data.length; at++) {
    const pixel = at >> 2
    if (isMeant(pixel % a.width, Math.floor(pixel / a.width))) {
      most = Math.max(most, Math.abs(a.data[at]! - b.data[at]!))
    }
  }
  return most
}

/** The mean difference between two pictures of the same size. */
export function meanDifference(a: Pixels, b: Pixels): number {
  return a.data.reduce((sum, value, at) => sum + Math.abs(value - b.data[at]!), 0) / a.data.length
}
