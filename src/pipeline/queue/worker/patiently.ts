import { sleep } from '../../../context.ts'
import { ModelgateError } from '../../../errors.ts'
import type { Worker } from './worker-call.ts'

const firstPauseMs = 500
const maxPauseMs = 30_000

/**
 * Does something on the queue's server or in the store, for as long as it takes: servers are restarted.
 * @param until ends it
 * @param withFiles whether a disk that takes nothing is waited for, too: what has been paid for is not given up for that
 * @throws what another attempt would not change; the signal's reason
 */
export async function patiently<Result>(
  { context: { clock }, warn }: Pick<Worker, 'context' | 'warn'>,
  until: AbortSignal,
  work: () => Promise<Result>,
  withFiles = false,
): Promise<Result> {
  for (let tries = 0; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (!isPassing(error, withFiles)) throw error
      until.throwIfAborted()
      warn(`${error.message} It is tried again.`)
    }
    const pauseMs = Math.min(maxPauseMs, firstPauseMs * 2 ** tries)
    await sleep(clock, pauseMs * (0.75 + clock.random() / 2), until)
  }
}

/** Whether it may work later, by itself or when an operator has done something. */
function isPassing(error: unknown, withFiles: boolean): error is ModelgateError {
  if (!(error instanceof ModelgateError) || finalCodes.has(error.code)) return false
  return error.exit === 'notSent' || error.exit === 'later' || (withFiles && error.exit === 'io')
}

const finalCodes: ReadonlySet<string> = new Set(['queue_lost', 'source_changed', 'store_input_missing'])
