import type { Clock, Timer } from '../context.ts'
import { DeadlinePassed } from './exchange-error.ts'

/** A timer that fires later than this was not waiting: the process was suspended, or busy. */
const lateMs = 1_000
/** How long it may then take to catch up with what came, or could have been sent, meanwhile. */
const catchUpMs = 5_000

/**
 * Calls back when it has not been touched for a while; re-armed only when it fires. A process that was suspended or busy for
 * longer than the limit first gets to look at what came meanwhile (fault F19).
 */
export function createWatchdog(clock: Clock) {
  let timer: Timer | undefined
  let limit = 0
  let touched = 0
  let expire = () => {}
  let due = 0
  let hasLooked = false

  const arm = (left: number) => {
    // So often that a suspension hardly longer than the limit is noticed.
    const wait = Math.min(left, limit / 4)
    due = clock.monotonic() + wait
    timer = clock.timer(wait, check)
  }
  const check = () => {
    const now = clock.monotonic()
    if (now - due > lateMs) touched = Math.max(touched, now - limit + Math.min(limit, catchUpMs))
    const left = Math.ceil(touched + limit - now)
    const isOver = left <= 0
    if (isOver && hasLooked) return expire()
    hasLooked = isOver
    arm(Math.max(0, left))
  }

  return {
    /** Cheap enough to be called for every chunk. */
    touch() {
      touched = clock.monotonic()
    },
    watch(limitMs: number | undefined, onExpire: () => void) {
      timer?.cancel()
      timer = undefined
      if (limitMs === undefined) return
      limit = limitMs
      expire = onExpire
      touched = clock.monotonic()
      hasLooked = false
      arm(limit)
    },
    stop() {
      timer?.cancel()
      timer = undefined
    },
  }
}

/** The clock of `--timeout`, for a request with its retries and its body. @returns `end`: to be called once that is read */
export function startTotalLimit({
  clock,
  signal,
  limits: { total = Infinity, deadline = Infinity },
}: {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly limits: { readonly total?: number | undefined; readonly deadline?: number | undefined }
}): { readonly signal: AbortSignal; readonly end?: () => void } {
  const left = deadline - clock.monotonic()
  if (total === Infinity && left === Infinity) return { signal }
  const controller = new AbortController()
  const message =
    left < total
      ? 'The time limit for the whole command was reached (--timeout).'
      : `The request took longer than ${total / 1000} s (--timeout).`
  const timer = clock.timer(Math.max(0, Math.min(total, left)), () => {
    controller.abort(new DeadlinePassed(message))
  })
  return { signal: AbortSignal.any([signal, controller.signal]), end: () => timer.cancel() }
}
