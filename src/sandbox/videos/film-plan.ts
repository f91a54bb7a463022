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

/** Of a prompt, so much decides the picture: a job stays small on the disk whatever is asked. */
const decisiveLength = 2000
/** Remixes of remixes keep so many of their changes. */
const mostChanges = 8

/** The prompts of a video that is made from nothing but its own. */
export function firstPrompt(prompt: string): Film['prompts'] {
  return [prompt.slice(0, decisiveLength)]
}

/** The prompts of a remix. */
export function withChange([first, ...changes]: Film['prompts'], prompt: string): Film['prompts'] {
  return [first, ...[...changes, prompt.slice(0, decisiveLength)].slice(-mostChanges)]
}
