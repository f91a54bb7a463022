import type { Pixels } from '../../files/codecs.ts'
import { cellAspect } from './fit-picture.ts'
import type { FittedSize } from './fit-picture.ts'
import { onCheckerboard } from './on-checkerboard.ts'
import { scaleToCells } from './scale-picture.ts'

/** Sixels are pixels, and how many a character has is not known: more than this on most terminals. */
const cell = { width: 8, height: 8 * cellAspect }

/** The sequence that draws a picture in sixels, in 256 colours of its own. */
export async function sixelPicture(picture: Pixels, size: FittedSize): Promise<string> {
  const { image2sixel } = await loadEncoder()
  const scaled = scaleToCells(picture, size, cell)
  const { data, width, height } = onCheckerboard(scaled, 8)
  return `${image2sixel(data, width, height, 256)}\n`
}

/**
 * A module that the package carries assigns to a global variable without declaring it, which fails in strict code,
 * and a bundle is strict: the variable has to be there first.
 */
async function loadEncoder() {
  if (!('UPNG' in globalThis)) Object.assign(globalThis, { UPNG: undefined })
  return await import('sixel/lib/SixelEncoder.js')
}
