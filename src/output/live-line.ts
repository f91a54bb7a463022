import type { Context, Timer } from '../context.ts'
import type { StyleLoader, Styles } from './styles.ts'

/** What a line shows at the moment, at most `width` characters wide. */
export type LiveLine = (width: number, styles: Styles) => string

/** Between two looks at what there is to draw, in milliseconds. */
const pace = 200
/** News is drawn at once, but not more often than this. */
const shortestPace = 100

export interface LiveLineDrawer {
  /** Draws the line in place, now and again as it changes, until `stop`. */
  show(line: LiveLine): void
  /** Takes the line off the screen. */
  stop(): void
}

/**
 * The cursor is left at the start of the line: there the `^C` of a terminal is drawn over as well,
 * and a line that a narrower window has wrapped is below the cursor, where it can be erased.
 * @param styles loaded when the first line is shown
 */
export function createLiveLine({ stderr, clock }: Context, styles: StyleLoader): LiveLineDrawer {
  let current: LiveLine | undefined
  let timer: Timer | undefined
  let drawn = ''
  let drawnAt = 0

  const draw = () => {
    timer?.cancel()
    timer = clock.timer(pace, draw)
    // What a slow terminal has not taken yet would be out of date when it is seen.
    if (current === undefined || stderr.needsDrain) return
    const text = current(stderr.columns - 1, styles.current!)
    if (text !== drawn) stderr.write(`\r${text}\u001b[J\r`)
    drawn = text
    drawnAt = clock.monotonic()
  }
  return {
    show(line) {
      const isNew = line !== current
      current = line
      if (isNew || clock.monotonic() - drawnAt >= shortestPace) draw()
    },
    stop() {
      timer?.cancel()
      timer = undefined
      current = undefined
      if (drawn !== '') stderr.write('\r\u001b[J')
      drawn = ''
    },
  }
}
