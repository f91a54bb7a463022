import type { Clock, Timer } from '../context.ts'

/** A limit on silence: calls back when it was not touched for a while. */
export interface Watchdog {
  /** Something happened: the time starts anew. Cheap enough to be called for every chunk. */
  touch(): void
  /** Starts anew with another limit (milliseconds) and another callback. */
  watch(limitMs: number | undefined, onExpire: () => void): void
  stop(): void
}

/** A watchdog on the given clock. It re-arms its timer only when that fires, not at every touch. */
export function createWatchdog(clock: Clock): Watchdog {
  let timer: Timer | undefined
  let limit = 0
  let touched = 0
  let expire = () => {}

  const check = () => {
    const left = touched + limit - clock.monotonic()
    if (left <= 0) return expire()
    timer = clock.timer(left, check)
  }

  return {
    touch() {
      touched = clock.monotonic()
    },
    watch(limitMs, onExpire) {
      timer?.cancel()
      timer = undefined
      if (limitMs === undefined) return
      limit = limitMs
      expire = onExpire
      touched = clock.monotonic()
      timer = clock.timer(limit, check)
    },
    stop() {
      timer?.cancel()
      timer = undefined
    },
  }
}
