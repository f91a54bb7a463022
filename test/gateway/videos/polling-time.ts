import type { FakeClock } from '../../support/fake-clock.ts'

/** Time for a test that waits for a job: it passes while the program waits, and stands still while it asks. */
export interface PollingTime {
  readonly clock: FakeClock
  /** What was waited between look-ups, in seconds. */
  readonly waits: readonly number[]
}

export function pollingTime(base: FakeClock): PollingTime {
  const waits: number[] = []
  const pass = async (ms: number, isOver: () => boolean) => {
    while (!isOver()) await base.advance(Math.max(1, ms))
  }
  const clock = Object.assign(Object.create(base) as FakeClock, {
    timer(ms: number, callback: () => void, label?: 'sleep') {
      if (label !== 'sleep') return base.timer(ms, callback)
      waits.push(Math.round(ms * 1_000) / 1_000_000)
      let isOver = false
      const onTime = () => {
        isOver = true
        callback()
      }
      const timer = base.timer(ms, onTime, label)
      void pass(ms, () => isOver)
      return {
        cancel() {
          isOver = true
          timer.cancel()
        },
      }
    },
  })
  return { clock, waits }
}
