import type { Pixels } from '../../files/codecs.ts'
import type { CellSize } from './fit-picture.ts'
import { cellAspect } from './fit-picture.ts'
import { onCheckerboard } from './on-checkerboard.ts'
import { scalePicture } from './scale-picture.ts'

/** Sixels are pixels, and how many a character has is not known: more than this on most terminals. */
const cellWidth = 8

/** The sequence that draws a picture in sixels, in 256 colours of its own. */
export async function sixelPicture(picture: Pixels, size: CellSize): Promise<string> {
  const { image2sixel } = await import('sixel/lib/SixelEncoder.js')
  const scaled = scalePicture(picture, size.columns * cellWidth, size.rows * cellWidth * cellAspect)
  const { data, width, height } = onCheckerboard(scaled, 8)
  return `${image2sixel(data, width, height, 256)}\n`
}
