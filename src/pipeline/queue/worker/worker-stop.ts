import type { Clock, Timer } from '../../../context.ts'
import { Interrupted } from '../../../errors.ts'

/** How a worker comes to its end, in three steps. */
export interface WorkerStop {
  /** Aborted at the first step: nothing new is begun. */
  readonly closing: AbortSignal
  /** Aborted when the time of grace is over: requests are given up. */
  readonly inFlight: AbortSignal
  /** Aborted when no more is written down: what is left is for the next process. */
  readonly lastWords: AbortSignal
  /** Begins the end for a reason of the worker's own. What is in flight may take its time. */
  end(reason: unknown): void
  /** Why it ends; a signal goes before any other reason. */
  reason(): unknown
  /** No longer listens to signals. */
  close(): void
}

/** After the requests have been given up, to write down what came of them, in milliseconds. */
const lastWordsMs = 2_000
/** Then, to close connections. */
const closeMs = 1_000

/** Obeys a signal: a second one ends the process itself (`obeySignals`). */
export function openStop(
  { signal, clock }: { readonly signal: AbortSignal; readonly clock: Clock },
  graceS: number,
): WorkerStop {
  const [closing, inFlight, lastWords] = [new AbortController(), new AbortController(), new AbortController()]
  let reason: unknown
  let timer: Timer | undefined
  const onSignal = () => {
    reason = signal.reason as unknown
    if (reason instanceof Interrupted) reason.cleanUpMs = graceS * 1000 + lastWordsMs + closeMs
    timer = clock.timer(graceS * 1000, () => {
      inFlight.abort(reason)
      timer = clock.timer(lastWordsMs, () => lastWords.abort(reason))
    })
    closing.abort(reason)
  }
  if (signal.aborted) onSignal()
  else signal.addEventListener('abort', onSignal, { once: true })
  return {
    closing: closing.signal,
    inFlight: inFlight.signal,
    lastWords: lastWords.signal,
    end(own) {
      reason ??= own
      closing.abort(own)
    },
    reason: () => reason,
    close() {
      signal.removeEventListener('abort', onSignal)
      timer?.cancel()
    },
  }
}
