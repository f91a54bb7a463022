import { sleep, type Clock } from '../../context.ts'
import { ModelgateError } from '../../errors.ts'

const firstPauseMs = 500
const maxPauseMs = 5_000

export interface Patience {
  readonly clock: Clock
  /** Ends it. */
  readonly signal?: AbortSignal
  /** In milliseconds: after this time a failure is final. */
  readonly forMs?: number
  /** Whether it may work later, by itself or when an operator has done something. */
  isPassing(error: ModelgateError): boolean
  /** Called with each failure, before it is done again. */
  onFailure?(error: ModelgateError): void
}

/**
 * Does what may be done twice, with growing pauses, until it works: servers are restarted.
 * @throws what another attempt would not change; the signal's reason
 */
export async function patiently<Value>(
  work: () => Promise<Value>,
  { clock, signal, forMs = Infinity, isPassing, onFailure }: Patience,
): Promise<Value> {
  const began = clock.monotonic()
  for (let tries = 0; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof ModelgateError) || !isPassing(error)) throw error
      if (clock.monotonic() - began >= forMs) throw error
      signal?.throwIfAborted()
      onFailure?.(error)
    }
    const pauseMs = Math.min(maxPauseMs, firstPauseMs * 2 ** tries)
    await sleep(clock, pauseMs * (0.75 + clock.random() / 2), signal)
  }
}
