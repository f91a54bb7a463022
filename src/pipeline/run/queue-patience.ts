import { sleep, type Clock } from '../../context.ts'
import { ModelgateError } from '../../errors.ts'

/** Lets so many pieces of work go on at once; the others wait in their order. */
export function createSlots(count: number): <Value>(work: () => Promise<Value>) => Promise<Value> {
  const waiting: (() => void)[] = []
  let free = count
  return async (work) => {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve))
    else free--
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free++
      else next()
    }
  }
}

/** A queue may be away for so long, as while its server is replaced, and the waits between attempts, in milliseconds. */
const outageMs = 120_000
const waitsMs = [1_000, 2_000, 5_000, 10_000]

/**
 * Does what may be done twice, and does it again while the queue cannot be reached.
 * @throws the error of the last attempt; the reason of the signal
 */
export async function patiently<Value>(
  clock: Clock,
  signal: AbortSignal,
  work: () => Promise<Value>,
): Promise<Value> {
  const began = clock.monotonic()
  for (let attempt = 0; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      const isAway = error instanceof ModelgateError && error.code === 'queue_unreachable'
      if (!isAway || clock.monotonic() - began >= outageMs) throw error
      await sleep(clock, waitsMs[Math.min(attempt, waitsMs.length - 1)]!, signal)
    }
  }
}
