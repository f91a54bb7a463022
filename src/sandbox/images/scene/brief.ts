import type { Random } from '../../seeded-random.ts'
import { seededRandom } from '../../seeded-random.ts'
import type { Palette } from './palette.ts'

/** How finely a picture is drawn. Finer pictures show the same scene. */
export type Detail = 1 | 2 | 3

/** What a scene is painted from. */
export interface Brief {
  readonly palette: Palette
  readonly detail: Detail
  /** Chance for one part of the scene, apart from all others: more trees must not move the sun. */
  chance(part: string): Random
}

export function briefFor(seed: readonly (string | number)[], palette: Palette, detail: Detail): Brief {
  return { palette, detail, chance: (part) => seededRandom(...seed, part) }
}

/** So many, for the three levels of detail. */
export function count(detail: Detail, most: number): number {
  return Math.round(most * [0.3, 0.65, 1][detail - 1]!)
}
