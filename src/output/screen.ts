import { inCi, type Context, type Timer } from '../context.ts'
import type { Gate } from './gate.ts'
import type { TextStream } from './redact/streams.ts'

/**
 * Both output streams as one person may see them: on one terminal, where the text on standard output and
 * the lines on standard error must not run into each other.
 */
export interface Screen {
  /** The result, on standard output, exactly as given. */
  text(text: string): void
  /** Words beside the result, as they come, on standard error. */
  aside(words: string): void
  /** One line on standard error. On a terminal it waits for the end of the text's line. */
  line(text: string, tone: Tone, limit?: number): void
  /** A JSON document on standard error. */
  json(text: string): void
  /** Whether a line can be drawn again in place, while there is nothing else to be written. */
  readonly isLive: boolean
  /** Says, after a moment, what is being waited for, until the result comes; or shows at once how far it has come. */
  wait(text: string | LiveLine): void
  /**
   * Waits for a slow reader of standard output.
   * @throws what `Sink.drain` throws
   */
  settle(): Promise<void>
  /** The same, to the end of everything written. */
  close(): Promise<void>
  /** The same after a failure, which outranks whatever becomes of the output now. */
  closeAfterError(): Promise<void>
}

/** Longer lines say nothing more to a person. */
const defaultLimit = 500

export function createScreen(context: Context, gate: Gate, quiet: boolean): Screen {
  const { stdout, stderr } = context
  const styles = loadStyles(context)
  const progress = quiet ? undefined : createProgress(context, styles)
  // Is there an unfinished line, of the text or of the words beside it?
  let textOpen = false
  let asideOpen = false
  let asides: TextStream | undefined
  let waiting: string | LiveLine | undefined
  const deferredLines: string[] = []
  const queue: ((ready: Styles) => void)[] = []

  /** Keeps the order of everything written while the colours are still being loaded. */
  const whenStyled = (task: (ready: Styles) => void) => {
    if (styles.current !== undefined && queue.length === 0) return task(styles.current)
    if (queue.push(task) === 1) {
      void styles.ready.then(() => {
        for (const next of queue.splice(0)) next(styles.current!)
      })
    }
  }
  const endOpenLine = () => {
    progress?.stop()
    if (asideOpen || textOpen) stderr.write('\n')
    asideOpen = textOpen = false
  }
  const putText = (text: string) => {
    progress?.stop()
    if (asideOpen) stderr.write('\n')
    asideOpen = false
    stdout.write(text)
    textOpen = Boolean(stdout.isTerminal) && !text.endsWith('\n')
  }
  const putAside = (clean: string) =>
    whenStyled((ready) => {
      waiting = undefined
      if (asideOpen) progress?.stop()
      else endOpenLine()
      stderr.write(ready.dim(clean))
      asideOpen = !clean.endsWith('\n')
    })
  /** Words that were kept back come before anything else. */
  const endAside = () => {
    const rest = asides?.end() ?? ''
    if (rest !== '') putAside(rest)
  }
  const putLines = (lines: readonly string[]) => {
    endOpenLine()
    if (lines.length > 0) stderr.write(lines.map((line) => `${line}\n`).join(''))
    if (waiting !== undefined) progress?.start(waiting)
  }
  const putTextAndDeferred = (text: string) => {
    waiting = undefined
    const lineEnd = deferredLines.length === 0 ? -1 : text.indexOf('\n')
    if (lineEnd === -1) return putText(text)
    putText(text.slice(0, lineEnd + 1))
    putLines(deferredLines.splice(0))
    if (lineEnd + 1 < text.length) putText(text.slice(lineEnd + 1))
  }
  const close = async () => {
    endAside()
    waiting = undefined
    if (queue.length > 0) await styles.ready
    progress?.stop()
    if (asideOpen || deferredLines.length > 0) putLines(deferredLines.splice(0))
    await stdout.drain()
  }

  return {
    isLive: progress !== undefined,
    text(text) {
      if (text === '') return
      endAside()
      if (queue.length === 0) putTextAndDeferred(text)
      else whenStyled(() => putTextAndDeferred(text))
    },
    aside(words) {
      if (words === '') return
      const clean = (asides ??= gate.words()).push(words)
      if (clean === '') return
      putAside(clean)
    },
    line(text, tone, limit = defaultLimit) {
      endAside()
      const clean = gate.line(text, limit)
      whenStyled((ready) => {
        const line = ready[tone](clean)
        if (textOpen) deferredLines.push(line)
        else putLines([line])
      })
    },
    json(text) {
      endAside()
      whenStyled(() => {
        waiting = undefined
        putLines([gate.json(text)])
      })
    },
    wait(text) {
      const start = (shown: string | LiveLine) => {
        waiting = shown
        progress?.start(shown)
      }
      // A line is drawn at once, so that what was told before it has to be there already.
      if (typeof text === 'string') start(gate.line(text, defaultLimit))
      else whenStyled(() => start(text))
    },
    async settle() {
      if (queue.length > 0) await styles.ready
      if (stdout.needsDrain) await stdout.drain()
    },
    close,
    closeAfterError: () => close().catch(() => {}),
  }
}

/** What a line shows at the moment, at most `width` characters wide. */
export type LiveLine = (width: number, styles: Styles) => string

/** Between two looks at what there is to draw, in milliseconds. */
const pace = 200
/** News is drawn at once, but not more often than this. */
const shortestPace = 100

interface LiveLineDrawer {
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
function createLiveLine({ stderr, clock }: Context, styles: StyleLoader): LiveLineDrawer {
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

/** A sign of life while nothing else is on the screen. */
interface Progress {
  /** Shows the text if nothing stops it within 300 ms, or a line that changes at once. */
  start(text: string | LiveLine): void
  stop(): void
}

const patience = 300

/** A spinner or a line on standard error, where that is a terminal that can move its cursor; elsewhere nothing at all. */
function createProgress(context: Context, styles: StyleLoader): Progress | undefined {
  const { stream, isTerminal } = context.stderr
  // In a terminal without width the spinner would clear lines for ever.
  if (!isTerminal || !stream?.columns || context.env.TERM === 'dumb' || inCi(context.env)) return undefined

  const live = createLiveLine(context, styles)
  let timer: Timer | undefined
  let spinner: { stop(): unknown } | undefined
  // Counts starts and stops, so that a spinner whose library loads too late is not started.
  let turn = 0

  const spin = async (text: string, ownTurn: number) => {
    const { default: ora } = await import('ora')
    if (turn !== ownTurn) return
    spinner = ora({
      text,
      stream,
      color: context.env.NO_COLOR ? false : 'cyan',
      isEnabled: true,
      // Standard input may hold a pipe, and a hidden cursor would stay hidden after a kill.
      discardStdin: false,
      hideCursor: false,
    }).start()
  }
  const stopSpinner = () => {
    turn++
    timer?.cancel()
    timer = undefined
    spinner?.stop()
    spinner = undefined
  }
  const stop = () => {
    stopSpinner()
    live.stop()
  }
  context.signal.addEventListener('abort', stop, { once: true })
  return {
    start(text) {
      if (context.signal.aborted) return
      stopSpinner()
      if (typeof text !== 'string') return live.show(text)
      live.stop()
      const ownTurn = turn
      timer = context.clock.timer(patience, () => void spin(text, ownTurn))
    },
    stop,
  }
}

export type Tone = 'plain' | 'dim' | 'accent' | 'warning' | 'error'
export type Styles = Readonly<Record<Tone, (text: string) => string>>

const unstyled = (text: string) => text
const noStyles: Styles = {
  plain: unstyled,
  dim: unstyled,
  accent: unstyled,
  warning: unstyled,
  error: unstyled,
}

/** Colours for standard error; `undefined` until the colour library has been loaded. */
interface StyleLoader {
  readonly current: Styles | undefined
  readonly ready: Promise<unknown>
}

/** Loads the colour library only where there will be colours. */
export function loadStyles(context: Context): StyleLoader {
  if (!wantsColour(context)) return { current: noStyles, ready: Promise.resolve() }
  let current: Styles | undefined
  const ready = import('chalk').then(({ Chalk }) => {
    // The library would judge by the environment of the process; the context has judged already.
    const chalk = new Chalk({ level: 1 })
    current = {
      plain: unstyled,
      dim: chalk.dim,
      accent: chalk.cyan,
      warning: chalk.yellow,
      error: chalk.red,
    }
  })
  return {
    get current() {
      return current
    },
    ready,
  }
}

/** `FORCE_COLOR` decides, then `NO_COLOR` (no-color.org: set and not empty), then the terminal itself. */
function wantsColour({ env, stderr }: Context): boolean {
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false'
  if (env.NO_COLOR) return false
  return Boolean(stderr.isTerminal) && env.TERM !== 'dumb'
}
