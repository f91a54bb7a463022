import { seededRandom } from '../../seeded-random.ts'
import { farthestMove } from './encoder.ts'
import type { Film } from '../film-plan.ts'

export const framesPerSecond = 24

/** How far the camera goes: in heights or widths of the picture (the shorter one) a second, and at most in widths. */
const speed = 0.07
const mostWidths = 0.4

/** Columns of the scene that the camera passes beyond the first picture; even. */
export function panLength({ width, height, seconds }: Film): number {
  const length = Math.min(speed * seconds * Math.min(width, height), mostWidths * width)
  return Math.round(length / 2) * 2
}

/** The first column that each picture shows: gently off, gently to a stop, from the left or from the right. */
export function panOffsets(film: Film): number[] {
  const length = panLength(film)
  const frames = film.seconds * framesPerSecond
  const isBackwards = seededRandom(film.seed, film.prompts[0], 'pan')() < 0.5
  let last: number | undefined
  return Array.from({ length: frames }, (_, frame) => {
    const share = (1 - Math.cos((Math.PI * frame) / (frames - 1))) / 2
    const wished = Math.round(((isBackwards ? 1 - share : share) * length) / 2) * 2
    const offset =
      last === undefined ? wished : Math.min(last + farthestMove, Math.max(last - farthestMove, wished))
    last = offset
    return offset
  })
}
