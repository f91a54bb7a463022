import type { Pixels } from '../../../files/codecs.ts'

/** A part of a picture, in its pixels; not necessarily whole ones. */
export interface Area {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
}

/** Scales a part of a picture, smoothly in both directions. Colours count by their alpha, so no dark seams appear. */
export function resize(picture: Pixels, area: Area, width: number, height: number): Pixels {
  const columns = taps(area.left, area.width, picture.width, width)
  const rows = taps(area.top, area.height, picture.height, height)
  // First every needed source row to its new width, then the columns.
  const first = rows[0]!.first
  const last = Math.max(...rows.map((row) => row.first + row.weights.length))
  const narrow = new Float32Array((last - first) * width * 4)
  for (let y = first; y < last; y++) {
    for (let x = 0; x < width; x++) {
      const { first: start, weights } = columns[x]!
      const to = ((y - first) * width + x) * 4
      for (let tap = 0; tap < weights.length; tap++) {
        const from = (y * picture.width + start + tap) * 4
        const alpha = picture.data[from + 3]! * weights[tap]!
        narrow[to]! += picture.data[from]! * alpha
        narrow[to + 1]! += picture.data[from + 1]! * alpha
        narrow[to + 2]! += picture.data[from + 2]! * alpha
        narrow[to + 3]! += alpha
      }
    }
  }
  const data = new Uint8ClampedArray(width * height * 4)
  for (let y = 0; y < height; y++) {
    const { first: start, weights } = rows[y]!
    for (let x = 0; x < width; x++) {
      let [red, green, blue, alpha] = [0, 0, 0, 0]
      for (let tap = 0; tap < weights.length; tap++) {
        const from = ((start - first + tap) * width + x) * 4
        red += narrow[from]! * weights[tap]!
        green += narrow[from + 1]! * weights[tap]!
        blue += narrow[from + 2]! * weights[tap]!
        alpha += narrow[from + 3]! * weights[tap]!
      }
      if (alpha > 0) data.set([red / alpha, green / alpha, blue / alpha, alpha], (y * width + x) * 4)
    }
  }
  return { data, width, height }
}

interface Taps {
  /** The first source pixel that counts for this one, and how much it and the ones after it count; all add up to 1. */
  readonly first: number
  readonly weights: readonly number[]
}

/** A triangle as wide as one pixel of the coarser of the two pictures. */
function taps(start: number, length: number, available: number, wanted: number): readonly Taps[] {
  const scale = length / wanted
  const reach = Math.max(1, scale)
  return Array.from({ length: wanted }, (_, index) => {
    const centre = start + (index + 0.5) * scale - 0.5
    const first = Math.min(available - 1, Math.max(0, Math.ceil(centre - reach)))
    const last = Math.max(first, Math.min(available - 1, Math.floor(centre + reach)))
    const weights = Array.from({ length: last - first + 1 }, (__, tap) =>
      Math.max(0, 1 - Math.abs(first + tap - centre) / reach),
    )
    const sum = weights.reduce((total, weight) => total + weight, 0)
    return { first, weights: sum === 0 ? [1] : weights.map((weight) => weight / sum) }
  })
}
