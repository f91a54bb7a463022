import { sleep, type Clock } from '../../context.ts'
import { ModelgateError } from '../../errors.ts'

const firstPauseMs = 500
const maxPauseMs = 30_000

interface Patient {
  readonly context: { readonly clock: Clock }
  warn(message: string): void
}

/**
 * Does something in the store, for a worker, for as long as it takes: servers are restarted.
 * @param until ends it
 * @param withFiles whether a disk that takes nothing is waited for, too: what has been paid for is not given up for that
 * @throws what another attempt would not change; the signal's reason
 */
export async function patiently<Result>(
  { context: { clock }, warn }: Patient,
  until: AbortSignal,
  work: () => Promise<Result>,
  withFiles = false,
): Promise<Result> {
  for (let tries = 0; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof ModelgateError) || !isPassing(error, withFiles)) throw error
      until.throwIfAborted()
      warn(`${error.message} It is tried again.`)
    }
    const pauseMs = Math.min(maxPauseMs, firstPauseMs * 2 ** tries)
    await sleep(clock, pauseMs * (0.75 + clock.random() / 2), until)
  }
}

/** Whether it may work later, by itself or when an operator has done something. */
function isPassing({ code, exit }: ModelgateError, withFiles: boolean): boolean {
  if (finalCodes.has(code)) return false
  return exit === 'notSent' || exit === 'later' || (withFiles && exit === 'io')
}

const finalCodes: ReadonlySet<string> = new Set(['source_changed', 'store_input_missing'])
