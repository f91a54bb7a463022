import { AsyncResource } from 'node:async_hooks'
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../src/context.ts'

export interface FakeClock extends Clock {
  /**
   * Moves time forward, calls every timer that falls due in order, and lets the promises that hang on each settle
   * before the next one fires. Timers set meanwhile count too.
   */
  advance(ms: number): Promise<void>
  /** Timers that have been set and neither fired nor cancelled. */
  readonly pendingTimers: number
}

/** A clock that stands still until told to move. Starts at 2026-01-01T00:00:00Z; chance is always one half. */
export function fakeClock({ start = Date.UTC(2026, 0, 1), random = (): number => 0.5 } = {}): FakeClock {
  const timers = new Set<{ due: number; callback: () => void }>()
  let elapsed = 0
  return {
    now: () => start + elapsed,
    monotonic: () => elapsed,
    random,
    timer(ms, callback) {
      // Like a real one, it goes on where it was set.
      const timer = { due: elapsed + Math.max(0, ms), callback: AsyncResource.bind(callback) }
      timers.add(timer)
      return { cancel: () => void timers.delete(timer) }
    },
    get pendingTimers() {
      return timers.size
    },
    async advance(ms) {
      const until = elapsed + ms
      await setImmediate()
      for (let next = earliest(timers, until); next !== undefined; next = earliest(timers, until)) {
        timers.delete(next)
        elapsed = Math.max(elapsed, next.due)
        next.callback()
        await setImmediate()
      }
      elapsed = until
    },
  }
}

/** Of those due at once the one that was set first. */
function earliest<Timer extends { due: number }>(timers: Iterable<Timer>, until: number): Timer | undefined {
  return [...timers].filter(({ due }) => due <= until).toSorted((one, other) => one.due - other.due)[0]
}
