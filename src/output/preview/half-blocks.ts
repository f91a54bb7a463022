import type { Pixels } from '../../files/codecs.ts'
import type { FittedSize } from './fit-picture.ts'
import { nearestColour } from './colour-256.ts'
import { onCheckerboard } from './on-checkerboard.ts'
import { scaleToCells } from './scale-picture.ts'

export type ColourDepth = 256 | 'true'

const reset = '\x1b[0m'

/**
 * Draws a picture with the character ▀: its ink is the upper pixel, its ground the lower one. Ends with a line feed.
 * @param size in characters; a picture with fewer pixels takes less room
 */
export function halfBlocks(picture: Pixels, size: FittedSize, depth: ColourDepth): string {
  const { data, width, height } = onCheckerboard(scaleToCells(picture, size, { width: 1, height: 2 }), 2)
  const colour = depth === 'true' ? trueColour : colourOf256
  let text = ''
  for (let y = 0; y < height; y += 2) {
    let inkBefore = ''
    let groundBefore = ''
    for (let x = 0; x < width; x++) {
      const at = (y * width + x) * 4
      const ink = `38;${colour(data, at)}`
      // Below the last row of an odd number is the terminal itself.
      const ground = y + 1 < height ? `48;${colour(data, at + width * 4)}` : '49'
      const changes = [...(ink === inkBefore ? [] : [ink]), ...(ground === groundBefore ? [] : [ground])]
      text += changes.length === 0 ? '▀' : `\x1b[${changes.join(';')}m▀`
      inkBefore = ink
      groundBefore = ground
    }
    text += `${reset}\n`
  }
  return text
}

function trueColour(data: Uint8ClampedArray, at: number): string {
  return `2;${data[at]};${data[at + 1]};${data[at + 2]}`
}

function colourOf256(data: Uint8ClampedArray, at: number): string {
  return `5;${nearestColour(data[at]!, data[at + 1]!, data[at + 2]!)}`
}
