import type { Context, Timer } from '../context.ts'
import { inCi } from './in-ci.ts'
import { createLiveLine } from './live-line.ts'
import type { LiveLine } from './live-line.ts'
import type { StyleLoader } from './styles.ts'

/** A sign of life while nothing else is on the screen. */
export interface Progress {
  /** Shows the text if nothing stops it within 300 ms, or a line that changes at once. */
  start(text: string | LiveLine): void
  stop(): void
}

const patience = 300

/** A spinner or a line on standard error, where that is a terminal that can move its cursor; elsewhere nothing at all. */
export function createProgress(context: Context, styles: StyleLoader): Progress | undefined {
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
