import type { Clock } from '../context.ts'
import { Interrupted } from '../errors.ts'

export type Stop = ReturnType<typeof stopWithGrace>

/** What is left, after the requests have been given up, to write down what came of them. */
const lastWordsMs = 2_000

/**
 * At a signal nothing new is begun, and after the time of grace what is in flight is given up. A second signal ends the
 * process itself (`obeySignals`). @param lost aborted when another process has taken over
 */
export function stopWithGrace(
  { signal, clock }: { readonly signal: AbortSignal; readonly clock: Clock },
  graceS: number,
  lost: AbortSignal | undefined,
  onStop: (reason: unknown) => void,
) {
  const inFlight = new AbortController()
  const either = lost === undefined ? signal : AbortSignal.any([signal, lost])
  let timer: { cancel(): void } | undefined
  const stop = () => {
    const { reason } = either as { reason: unknown }
    // Another reason is a closed standard output: nobody is left to write for, but results are kept all the same.
    if (reason instanceof Interrupted) reason.cleanUpMs = graceS * 1000 + lastWordsMs
    onStop(reason)
    timer = clock.timer(graceS * 1000, () => inFlight.abort(reason))
  }
  if (either.aborted) stop()
  else either.addEventListener('abort', stop, { once: true })
  return {
    signal: inFlight.signal,
    /** Undefined while the run continues. */
    reason: () => (either.aborted ? (either.reason as unknown) : undefined),
    close(): void {
      either.removeEventListener('abort', stop)
      timer?.cancel()
    },
  }
}
