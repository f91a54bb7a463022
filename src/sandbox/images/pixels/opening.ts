import type { Pixels } from '../../../files/codecs.ts'
import { middleOf } from './fit.ts'
import type { Size } from './fit.ts'

/**
 * Where a mask lets an edit through, for every pixel of the result: 0 where its alpha is above zero, 1 where it is
 * zero (specification, endpoint 6, `mask`), less near the edge of the opening, so that the edit blends in.
 * @param mask of the source's dimensions; it is fitted to the result as the source is
 */
export function openingOf(mask: Pixels, { width, height }: Size): Float32Array {
  const area = middleOf(mask, { width, height })
  // Distances to the nearest closed pixel, found in one pass forward and one back.
  const far = width + height
  const distances = new Float32Array(width * height)
  for (let y = 0; y < height; y++) {
    const row = Math.floor(area.top + ((y + 0.5) * area.height) / height)
    for (let x = 0; x < width; x++) {
      const column = Math.floor(area.left + ((x + 0.5) * area.width) / width)
      const isOpen = mask.data[(row * mask.width + column) * 4 + 3] === 0
      const before = Math.min(
        x === 0 ? far : distances[y * width + x - 1]!,
        y === 0 ? far : distances[(y - 1) * width + x]!,
      )
      distances[y * width + x] = isOpen ? before + 1 : 0
    }
  }
  const feather = Math.max(1, Math.min(width, height) / 80)
  for (let at = width * height - 1; at >= 0; at--) {
    const right = at % width === width - 1 ? far : distances[at + 1]!
    const below = at >= width * (height - 1) ? far : distances[at + width]!
    distances[at] = Math.min(distances[at]!, right + 1, below + 1)
  }
  return distances.map((distance) => Math.min(1, distance / feather))
}
