import { expect, test } from 'vitest'
import { systemClock, type Clock } from '../../src/context.ts'
import { createWatchdog } from '../../src/gateway/time-limits.ts'

/** A watchdog on a clock whose only timer fires when the test says so, however late that is. */
function watched(limitMs: number) {
  let now = 0
  let expired = 0
  let pending: (() => void) | undefined
  const clock: Clock = {
    ...systemClock,
    monotonic: () => now,
    timer(_, callback) {
      pending = callback
      return { cancel: () => (pending = undefined) }
    },
  }
  const watchdog = createWatchdog(clock)
  watchdog.watch(limitMs, () => expired++)
  return {
    watchdog,
    /** How often the limit has passed, once the timer has fired at these times. */
    expiredAt(...times: readonly number[]) {
      for (const time of times) {
        now = time
        const callback = pending
        pending = undefined
        callback?.()
      }
      return expired
    },
  }
}

test('what came while the process was suspended is looked at before the time is over (fault F19)', () => {
  const { watchdog, expiredAt } = watched(1_000)
  expect(expiredAt(60_000)).toBe(0)
  // Between two timers the process reads what has come.
  watchdog.touch()
  expect(expiredAt(60_001)).toBe(0)
  expect(expiredAt(61_000, 61_001)).toBe(1)
})

test.each([
  ['five seconds, however long the limit is', 60_000, [3_600_000, 3_604_999], [3_605_000, 3_605_001]],
  ['so after hardly longer than the limit', 2_000, [2_500, 3_000, 3_500, 4_000], [4_500, 4_501]],
])('a process that was suspended has time to catch up: %s', (_, limitMs, before, after) => {
  const { expiredAt } = watched(limitMs)
  expect(expiredAt(...before)).toBe(0)
  expect(expiredAt(...after)).toBe(1)
})
