import type { Context } from '../context.ts'
import type { Gate } from './gate.ts'
import type { LiveLine } from './live-line.ts'
import { createProgress } from './progress.ts'
import { loadStyles } from './styles.ts'
import type { TextStream } from './redact/text-stream.ts'
import type { Styles, Tone } from './styles.ts'

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
