import type { Clock, Timer } from '../context.ts'

/** A limit on silence: calls back when it was not touched for a while. */
export interface Watchdog {
  /** Something happened: the time starts anew. Cheap enough to be called for every chunk. */
  touch(): void
  /**
   * Starts anew with another limit (milliseconds) and another callback.
   * @param hasMoved asked now and then whether something has happened that nobody tells of
   */
  watch(limitMs: number | undefined, onExpire: () => void, hasMoved?: () => boolean): void
  stop(): void
}

/** So often within a limit it is asked whether something has moved: silence is noticed so much later at most. */
const looks = 12

/** A watchdog on the given clock. It re-arms its timer only when that fires, not at every touch. */
export function createWatchdog(clock: Clock): Watchdog {
  let timer: Timer | undefined
  let limit = 0
  let touched = 0
  let expire = () => {}
  let moved: (() => boolean) | undefined

  const arm = (left: number) => {
    timer = clock.timer(moved === undefined ? left : Math.min(left, Math.ceil(limit / looks)), check)
  }
  const check = () => {
    if (moved?.()) touched = clock.monotonic()
    const left = touched + limit - clock.monotonic()
    if (left <= 0) return expire()
    arm(left)
  }

  return {
    touch() {
      touched = clock.monotonic()
    },
    watch(limitMs, onExpire, hasMoved) {
      timer?.cancel()
      timer = undefined
      if (limitMs === undefined) return
      limit = limitMs
      expire = onExpire
      moved = hasMoved
      touched = clock.monotonic()
      arm(limit)
    },
    stop() {
      timer?.cancel()
      timer = undefined
    },
  }
}
