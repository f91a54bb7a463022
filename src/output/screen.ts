import { inCi, wantsColour, type Context, type Sink, type Timer } from '../context.ts'
import type { CleanStream, Gate } from './gate.ts'
import { createWordWrap } from './word-wrap.ts'

const defaultLimit = 500

export type Screen = ReturnType<typeof createScreen>

/** They may share a terminal: text on standard output and lines on standard error must not be mixed on one line. */
export function createScreen(context: Context, gate: Gate, quiet: boolean) {
  const { stdout, stderr } = context
  const styles = stylesFor(context, stderr)
  const progress = quiet ? undefined : createProgress(context, styles)
  let isTextOpen = false
  let isReasoningOpen = false
  let reasoning: CleanStream | undefined
  let waiting: string | LiveLine | undefined
  const deferredLines: string[] = []

  const endOpenLine = () => {
    progress?.stop()
    if (isReasoningOpen || isTextOpen) stderr.write('\n')
    isReasoningOpen = isTextOpen = false
  }
  const putText = (text: string) => {
    progress?.stop()
    if (isReasoningOpen) stderr.write('\n')
    isReasoningOpen = false
    stdout.write(text)
    isTextOpen = Boolean(stdout.isTerminal) && !text.endsWith('\n')
  }
  const putReasoning = (clean: string) => {
    waiting = undefined
    if (isReasoningOpen) progress?.stop()
    else endOpenLine()
    stderr.write(styles.dim(clean))
    isReasoningOpen = !clean.endsWith('\n')
  }
  const endReasoning = () => {
    const rest = reasoning?.end() ?? ''
    if (rest !== '') putReasoning(rest)
  }
  const putLines = (lines: readonly string[]) => {
    endOpenLine()
    if (lines.length > 0) stderr.write(lines.map((line) => `${line}\n`).join(''))
    if (waiting !== undefined) progress?.start(waiting)
  }
  const rest = () => {
    waiting = undefined
    progress?.stop()
  }
  const close = async () => {
    endReasoning()
    rest()
    if (isReasoningOpen || deferredLines.length > 0) putLines(deferredLines.splice(0))
    await stdout.drain()
  }

  return {
    /** A line can be redrawn in place while nothing else is written. */
    isLive: progress !== undefined,
    text(text: string): void {
      if (text === '') return
      endReasoning()
      waiting = undefined
      const lineEnd = deferredLines.length === 0 ? 0 : text.indexOf('\n') + 1
      if (lineEnd > 0) {
        putText(text.slice(0, lineEnd))
        putLines(deferredLines.splice(0))
      }
      if (lineEnd < text.length) putText(text.slice(lineEnd))
    },
    reasoning(text: string): void {
      if (text === '') return
      const clean = (reasoning ??= gate.stream()).push(text)
      if (clean !== '') putReasoning(clean)
    },
    /** One line on standard error. On a terminal it waits for the end of the current line of text. */
    line(text: string, tone: Tone, limit = defaultLimit): void {
      endReasoning()
      const clean = gate.line(text, limit)
      const line = styles[tone](stderr.isTerminal ? wrapWords(clean, stderr.columns) : clean)
      if (isTextOpen) deferredLines.push(line)
      else putLines([line])
    },
    /** One line on standard error that is clean already, for the runner of a CI job. */
    command: (line: string): void => putLines([line]),
    json(text: string): void {
      endReasoning()
      waiting = undefined
      putLines([gate.json(text)])
    },
    /** Until something else is written: a text after a short delay, a live line at once. */
    wait(text: string | LiveLine): void {
      waiting = typeof text === 'string' ? gate.line(text, defaultLimit) : text
      progress?.start(waiting)
    },
    rest,
    /** @throws what `Sink.drain` throws */
    async settle(): Promise<void> {
      if (stdout.needsDrain) await stdout.drain()
    },
    close,
    /** Output errors after a failure are ignored. */
    closeAfterError: (): Promise<void> => close().catch(() => {}),
  }
}

/** Breaks a line between words, but for a command to paste: a line of its own, or one in which spaces count. */
function wrapWords(line: string, columns: number): string {
  if (/^ {4}|modelgate [a-z].*["'\\]/.test(line)) return line
  const wrap = createWordWrap(() => columns)
  return wrap.push(line) + wrap.end()
}

export type LiveLine = (width: number, styles: Styles, height: number) => string

const redrawInterval = 200
const minRedrawInterval = 100

const usualRows = 24

/** Each line is drawn over the old one before the rest of that is erased, so that nothing flickers. */
function drawing(text: string): string {
  const lines = text.split('\n')
  const back = lines.length === 1 ? '' : `\u001b[${lines.length - 1}A`
  return `\r${lines.join('\u001b[K\r\n')}\u001b[J\r${back}`
}

const spinnerDelay = 300

/**
 * Undefined unless standard error is a terminal with cursor control. The cursor is left at the start of a live line:
 * there the `^C` of a terminal is drawn over as well, and a line that a narrower window has wrapped is below the
 * cursor, where it can be erased.
 */
function createProgress(context: Context, styles: Styles) {
  const { stderr, clock, env } = context
  const { stream, isTerminal } = stderr
  // With a width of 0 the spinner would clear lines forever.
  if (!isTerminal || !stream?.columns || env.TERM === 'dumb' || inCi(env)) return undefined

  let timer: Timer | undefined
  let line: LiveLine | undefined
  let drawn = ''
  let drawnAt = -Infinity
  let spinner: { stop(): unknown } | undefined
  // So that a spinner does not start after it was stopped while loading.
  let turn = 0
  let wait: { readonly text: string; readonly since: number } | undefined

  const draw = () => {
    timer?.cancel()
    timer = clock.timer(redrawInterval, draw)
    // Skip a frame while the terminal is busy: it would be outdated when shown.
    if (line === undefined || stderr.needsDrain) return
    const height = Math.max(1, (stream.rows ?? usualRows) - 1)
    const text = line(stderr.columns - 1, styles, height)
    if (text !== drawn) stderr.write(drawing(text))
    drawn = text
    drawnAt = clock.monotonic()
  }
  const spin = async () => {
    const { text, since } = wait!
    const ownTurn = turn
    const { default: ora } = await import('ora')
    if (turn !== ownTurn) return
    // Called for each frame.
    const suffixText = () => {
      const seconds = Math.floor((clock.monotonic() - since) / 1000)
      return seconds === 0 ? '' : `(${seconds} s)`
    }
    const color = env.NO_COLOR ? false : 'cyan'
    // Standard input may be a pipe, and a hidden cursor would stay so after a kill.
    const options = { discardStdin: false, hideCursor: false, isEnabled: true } as const
    spinner = ora({ text, suffixText, stream, color, ...options }).start()
  }
  const stop = () => {
    turn++
    timer?.cancel()
    timer = undefined
    spinner?.stop()
    spinner = undefined
    line = undefined
    drawnAt = -Infinity
    if (drawn !== '') stderr.write('\r\u001b[J')
    drawn = ''
  }
  context.signal.addEventListener('abort', stop, { once: true })
  return {
    start(text: string | LiveLine): void {
      if (context.signal.aborted) return
      if (typeof text !== 'string') {
        if (text !== line) stop()
        line = text
        if (clock.monotonic() - drawnAt >= minRedrawInterval) draw()
        return
      }
      stop()
      if (wait?.text !== text) wait = { text, since: clock.monotonic() }
      timer = clock.timer(spinnerDelay, () => void spin())
    },
    stop,
  }
}

export type Tone = (typeof tones)[number]
export type Styles = Readonly<Record<Tone, (text: string) => string>>

const unstyled = (text: string) => text
const tones = ['plain', 'dim', 'accent', 'success', 'warning', 'error'] as const
const noStyles = Object.fromEntries(tones.map((tone) => [tone, unstyled])) as Styles

export function stateTone(state: string): Tone {
  if (state === 'completed') return 'success'
  if (state === 'in_progress') return 'accent'
  return ['pending', 'queued', 'unknown'].includes(state) ? 'dim' : 'error'
}

let colours: Styles | undefined

/** If a stream has any: before its first line. */
export async function loadColours(context: Pick<Context, 'stdout' | 'stderr' | 'env'>): Promise<void> {
  if (![context.stdout, context.stderr].some((sink) => wantsColour(context, sink))) return
  const { Chalk } = await import('chalk')
  // Without auto-detection: `wantsColour` has already decided.
  const { dim, cyan, green, yellow, red } = new Chalk({ level: 1 })
  colours = { plain: unstyled, dim, accent: cyan, success: green, warning: yellow, error: red }
}

/** Once they have been loaded. Standard output has some on a terminal only: scripts read it. */
export function stylesFor(context: Pick<Context, 'stdout' | 'env'>, sink: Sink): Styles {
  const hasColours = wantsColour(context, sink) && (sink !== context.stdout || sink.isTerminal)
  return (hasColours && colours) || noStyles
}
