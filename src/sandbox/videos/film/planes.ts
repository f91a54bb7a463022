import type { Pixels } from '../../../files/codecs.ts'

/** One component of a picture. */
export interface Plane {
  readonly width: number
  readonly height: number
  readonly samples: Uint8Array
}

/** A picture as video has it: brightness, and two components of colour at half the width and height. */
export interface Planes {
  readonly luma: Plane
  readonly chroma: readonly [blue: Plane, red: Plane]
}

export function emptyPlanes(width: number, height: number): Planes {
  const plane = (wide: number, high: number): Plane => ({
    width: wide,
    height: high,
    samples: new Uint8Array(wide * high),
  })
  return {
    luma: plane(width, height),
    chroma: [plane(width / 2, height / 2), plane(width / 2, height / 2)],
  }
}

/**
 * Pixels as planes (ITU-R BT.709, limited range); the last row is repeated where the planes are higher.
 * @param height even
 */
export function planesOf({ data, width, height: rows }: Pixels, height: number): Planes {
  const planes = emptyPlanes(width, height)
  const { luma, chroma } = planes
  for (let y = 0; y < height; y++) {
    const source = Math.min(y, rows - 1) * width * 4
    for (let x = 0; x < width; x++) {
      const at = source + x * 4
      luma.samples[y * width + x] =
        16.5 + 0.182586 * data[at]! + 0.614231 * data[at + 1]! + 0.062007 * data[at + 2]!
    }
  }
  for (let y = 0; y < height / 2; y++) {
    const upper = Math.min(2 * y, rows - 1) * width * 4
    const lower = Math.min(2 * y + 1, rows - 1) * width * 4
    for (let x = 0; x < width / 2; x++) {
      const sum = (channel: number) => {
        const at = x * 8 + channel
        return data[upper + at]! + data[upper + at + 4]! + data[lower + at]! + data[lower + at + 4]!
      }
      const [red, green, blue] = [sum(0) / 4, sum(1) / 4, sum(2) / 4]
      const place = (y * width) / 2 + x
      chroma[0].samples[place] = 128.5 - 0.100644 * red - 0.338572 * green + 0.439216 * blue
      chroma[1].samples[place] = 128.5 + 0.439216 * red - 0.398942 * green - 0.040274 * blue
    }
  }
  return planes
}

/** Moves what a picture shows to the left by so many pixels (even; to the right if negative). */
export function shiftPlanes({ luma, chroma }: Planes, by: number): void {
  shiftPlane(luma.samples, by)
  for (const { samples } of chroma) shiftPlane(samples, by / 2)
}

/** Samples that leave at one side come in one row further at the other, where they are painted over. */
function shiftPlane(samples: Uint8Array, by: number): void {
  if (by > 0) samples.copyWithin(0, by)
  else samples.copyWithin(-by, 0)
}
