import type { Context, Timer } from '../context.ts'
import { inCi } from './in-ci.ts'

/** A sign of life while nothing else is on the screen. */
export interface Progress {
  /** Shows the text if nothing stops it within 300 ms. */
  start(text: string): void
  stop(): void
}

const patience = 300
const noProgress: Progress = { start() {}, stop() {} }

/** A spinner on standard error, where that is a terminal that can move its cursor; elsewhere nothing at all. */
export function createProgress(context: Context): Progress {
  const { stream, isTerminal } = context.stderr
  // In a terminal without width the spinner would clear lines for ever.
  if (!isTerminal || !stream?.columns || context.env.TERM === 'dumb' || inCi(context.env)) return noProgress

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
  const stop = () => {
    turn++
    timer?.cancel()
    timer = undefined
    spinner?.stop()
    spinner = undefined
  }
  context.signal.addEventListener('abort', stop, { once: true })
  return {
    start(text) {
      stop()
      const ownTurn = turn
      if (!context.signal.aborted) timer = context.clock.timer(patience, () => void spin(text, ownTurn))
    },
    stop,
  }
}
