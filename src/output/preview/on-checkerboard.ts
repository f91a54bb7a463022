import type { Pixels } from '../../files/codecs.ts'

const light = 0x99
const dark = 0x66

/** The picture with what shines through it: squares in two greys, as picture editors show transparency. */
export function onCheckerboard({ data, width, height }: Pixels, square: number): Pixels {
  const opaque = new Uint8ClampedArray(data.length)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = (y * width + x) * 4
      const behind = (Math.floor(x / square) + Math.floor(y / square)) % 2 === 0 ? light : dark
      const share = data[at + 3]! / 255
      for (let channel = at; channel < at + 3; channel++) {
        opaque[channel] = data[channel]! * share + behind * (1 - share)
      }
      opaque[at + 3] = 255
    }
  }
  return { data: opaque, width, height }
}
