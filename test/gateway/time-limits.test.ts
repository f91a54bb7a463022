import { expect, test } from 'vitest'
import { systemClock, type Clock } from '../../src/context.ts'
import { createWatchdog } from '../../src/gateway/time-limits.ts'

/** A clock whose only timer fires when the test says so, however late that is. */
function lateClock() {
  let now = 0
  let pending: (() => void) | undefined
  const clock: Clock = {
    ...systemClock,
    monotonic: () => now,
    timer(_, callback) {
      pending = callback
      return { cancel: () => (pending = undefined) }
    },
  }
  return {
    clock,
    fireAt(ms: number) {
      now = ms
      const callback = pending
      pending = undefined
      callback?.()
    },
  }
}

function watched() {
  const { clock, fireAt } = lateClock()
  const watchdog = createWatchdog(clock)
  let expired = 0
  watchdog.watch(1000, () => expired++)
  return { fireAt, watchdog, expired: () => expired }
}

test('what came while the process was suspended is looked at before the time is over (fault F19)', () => {
  const { fireAt, watchdog, expired } = watched()
  fireAt(60_000)
  expect(expired()).toBe(0)
  // Between two timers the process reads what has come.
  watchdog.touch()
  fireAt(60_001)
  expect(expired()).toBe(0)
  fireAt(61_000)
  fireAt(61_001)
  expect(expired()).toBe(1)
})

test('a process that was suspended has five seconds to catch up, however long the limit is', () => {
  const { clock, fireAt } = lateClock()
  let expired = 0
  createWatchdog(clock).watch(60_000, () => expired++)
  fireAt(3_600_000)
  fireAt(3_604_999)
  expect(expired).toBe(0)
  fireAt(3_605_000)
  fireAt(3_605_001)
  expect(expired).toBe(1)
})

test('a process that was suspended for hardly longer than the limit has the time to catch up, too', () => {
  const { clock, fireAt } = lateClock()
  let expired = 0
  createWatchdog(clock).watch(2_000, () => expired++)
  for (const at of [2_500, 3_000, 3_500, 4_000]) fireAt(at)
  expect(expired).toBe(0)
  fireAt(4_500)
  fireAt(4_501)
  expect(expired).toBe(1)
})
