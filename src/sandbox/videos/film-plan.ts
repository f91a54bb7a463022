/** A video before it is drawn: all that decides its pixels. */
export interface Film {
  /** The first prompt, and the changes of the remixes on top of it. */
  readonly prompts: readonly [string, ...string[]]
  /** What makes it repeatable, beside the prompts. */
  readonly seed: string
  readonly width: number
  readonly height: number
  readonly seconds: number
}

/** The longest video; the specification sets no limit, a stand-in should. */
export const longestFilmSeconds = 60

/** The size word of the Video object, which has one for each way up (specification, resource Video). */
export function sizeWord({ width, height }: Film): string {
  return known.has(`${width}x${height}`) ? `${width}x${height}` : width > height ? '1280x720' : '720x1280'
}

const known = new Set(['1280x720', '720x1280', '1792x1024', '1024x1792'])
