import { sleep, type Clock } from '../../context.ts'
import { ModelgateError } from '../../errors.ts'
import type { Worker } from './worker/worker-call.ts'

const firstPauseMs = 500
const maxPauseMs = 30_000

/** A run waits so long for a queue that is away, as while its server is replaced, in milliseconds. */
const outageMs = 120_000

/**
 * Does on a queue's server, for a run, what may be done twice, and does it again while the server cannot be reached.
 * @throws the error of the last attempt; the signal's reason
 */
export async function whileAway<Result>(
  clock: Clock,
  until: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  const began = clock.monotonic()
  return await again(clock, until, work, (error) => {
    return error.code === 'queue_unreachable' && clock.monotonic() - began < outageMs
  })
}

/**
 * Does something on the queue's server or in the store, for a worker, for as long as it takes: servers are restarted.
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
  return await again(clock, until, work, (error) => {
    if (!isPassing(error, withFiles)) return false
    until.throwIfAborted()
    warn(`${error.message} It is tried again.`)
    return true
  })
}

/** Whether it may work later, by itself or when an operator has done something. */
function isPassing({ code, exit }: ModelgateError, withFiles: boolean): boolean {
  if (finalCodes.has(code)) return false
  return exit === 'notSent' || exit === 'later' || (withFiles && exit === 'io')
}

const finalCodes: ReadonlySet<string> = new Set(['queue_lost', 'source_changed', 'store_input_missing'])

async function again<Result>(
  clock: Clock,
  until: AbortSignal,
  work: () => Promise<Result>,
  isTriedAgain: (error: ModelgateError) => boolean,
): Promise<Result> {
  for (let tries = 0; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof ModelgateError) || !isTriedAgain(error)) throw error
    }
    const pauseMs = Math.min(maxPauseMs, firstPauseMs * 2 ** tries)
    await sleep(clock, pauseMs * (0.75 + clock.random() / 2), until)
  }
}
