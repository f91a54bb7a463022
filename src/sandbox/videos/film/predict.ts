import type { Plane } from './planes.ts'

/** What is known around a block: the row above it and the column left of it, where they have been coded. */
export interface Surround {
  readonly hasTop: boolean
  readonly hasLeft: boolean
}

/** How a block is foretold from what surrounds it; the numbers are those of the bit stream for luma. */
export const modes = { vertical: 0, horizontal: 1, dc: 2, plane: 3 } as const
export type Mode = (typeof modes)[keyof typeof modes]

/** The modes that what is there allows, in luma's numbers. */
export function modesFor({ hasTop, hasLeft }: Surround): readonly Mode[] {
  if (hasTop && hasLeft) return [modes.dc, modes.vertical, modes.horizontal, modes.plane]
  if (hasTop) return [modes.dc, modes.vertical]
  return hasLeft ? [modes.dc, modes.horizontal] : [modes.dc]
}

/**
 * Foretells 16 by 16 samples of luma or 8 by 8 of chroma (H.264, clauses 8.3.3 and 8.3.4).
 * @param at place of the first sample
 */
export function predict(
  plane: Plane,
  at: number,
  size: 16 | 8,
  mode: Mode,
  surround: Surround,
  result: Int32Array,
): void {
  const { samples, width } = plane
  if (mode === modes.plane) return predictPlane(plane, at, size, result)
  if (mode === modes.dc) return predictDc(plane, at, size, surround, result)
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      result[y * size + x] = samples[mode === modes.vertical ? at - width + x : at + y * width - 1]!
    }
  }
}

/** The mean of what surrounds: of the whole block of luma, of each quarter of chroma. */
function predictDc(plane: Plane, at: number, size: 16 | 8, surround: Surround, result: Int32Array): void {
  const part = size === 16 ? 16 : 4
  for (let top = 0; top < size; top += part) {
    for (let left = 0; left < size; left += part) {
      const mean = meanAround(plane, at, part, top, left, surround)
      for (let y = top; y < top + part; y++) result.fill(mean, y * size + left, y * size + left + part)
    }
  }
}

function meanAround(
  { samples, width }: Plane,
  at: number,
  part: number,
  top: number,
  left: number,
  { hasTop, hasLeft }: Surround,
): number {
  // The quarters beside the diagonal of chroma lie nearer to one of the two sides and take that one alone.
  const takesTop = hasTop && !(hasLeft && top > 0 && left === 0)
  const takesLeft = hasLeft && !(hasTop && left > 0 && top === 0)
  let sum = 0
  for (let step = 0; step < part; step++) {
    if (takesTop) sum += samples[at - width + left + step]!
    if (takesLeft) sum += samples[at + (top + step) * width - 1]!
  }
  const count = (takesTop ? part : 0) + (takesLeft ? part : 0)
  return count === 0 ? 128 : (sum + count / 2) >> (31 - Math.clz32(count))
}

/** A slope through the samples around. */
function predictPlane({ samples, width }: Plane, at: number, size: 16 | 8, result: Int32Array): void {
  const half = size / 2
  const [above, beside] = [at - width, at - 1]
  let [across, down] = [0, 0]
  for (let step = 1; step <= half; step++) {
    across += step * (samples[above + half - 1 + step]! - samples[above + half - 1 - step]!)
    down +=
      step * (samples[beside + (half - 1 + step) * width]! - samples[beside + (half - 1 - step) * width]!)
  }
  const [scale, bits] = size === 16 ? [5, 6] : [34, 6]
  const [b, c] = [(scale * across + 32) >> bits, (scale * down + 32) >> bits]
  const a = 16 * (samples[beside + (size - 1) * width]! + samples[above + size - 1]!)
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      const value = (a + b * (x - half + 1) + c * (y - half + 1) + 16) >> 5
      result[y * size + x] = value < 0 ? 0 : value > 255 ? 255 : value
    }
  }
}
