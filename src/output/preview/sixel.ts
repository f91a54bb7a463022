import type { Pixels } from '../../files/codecs.ts'
import { cellAspect } from './fit-picture.ts'
import type { FittedSize } from './fit-picture.ts'
import { onCheckerboard } from './on-checkerboard.ts'
import { scaleToCells } from './scale-picture.ts'

/** Sixels are pixels, and how many a character has is not known: more than this on most terminals. */
const cell = { width: 8, height: 8 * cellAspect }

/** The sequence that draws a picture in sixels, in 256 colours of its own. */
export async function sixelPicture(picture: Pixels, size: FittedSize): Promise<string> {
  const { image2sixel } = await import('sixel/lib/SixelEncoder.js')
  const scaled = scaleToCells(picture, size, cell)
  const { data, width, height } = onCheckerboard(scaled, 8)
  return `${image2sixel(data, width, height, 256)}\n`
}
