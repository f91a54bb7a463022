import type { FakeClock } from '../../support/fake-clock.ts'

/** Time for a test that waits for a job: it passes while the program waits, and stands still while it asks. */
export interface PollingTime {
  readonly clock: FakeClock
  /** What was waited between look-ups, in seconds. */
  readonly waits: readonly number[]
  /** The next timer is a wait between look-ups, and passes at once. */
  expectWait(): void
}

export function pollingTime(base: FakeClock): PollingTime {
  const waits: number[] = []
  let isExpected = false
  const pass = async (ms: number, isOver: () => boolean) => {
    while (!isOver()) await base.advance(Math.max(1, ms))
  }
  const clock = Object.assign(Object.create(base) as FakeClock, {
    timer(ms: number, callback: () => void) {
      if (!isExpected) return base.timer(ms, callback)
      isExpected = false
      waits.push(Math.round(ms * 1_000) / 1_000_000)
      let isOver = false
      const timer = base.timer(ms, () => {
        isOver = true
        callback()
      })
      void pass(ms, () => isOver)
      return {
        cancel() {
          isOver = true
          timer.cancel()
        },
      }
    },
  })
  return {
    clock,
    waits,
    expectWait: () => void (isExpected = true),
  }
}
