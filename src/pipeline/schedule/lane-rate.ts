import type { Clock } from '../../context.ts'
import { waitBefore } from '../../gateway/retry.ts'

/** So many requests in a row without a 429 give one place back. */
const cleanToGrow = 20

/** When the gateway asks for less, in milliseconds: a gateway that says "0 s" each time must not be asked in a loop. */
const minPauseMs = 100

/** How many requests of a lane may be under way, and from when on: it follows the gateway's 429s. */
export interface LaneRate {
  /** How many at once; at least 1. */
  readonly concurrency: number
  /** When the lane may send again, on the monotonic clock. */
  readonly pausedUntil: number
  /** To be called for each request when it is sent. @returns its number */
  begin(): number
  /** The request went well. */
  succeed(): void
  /**
   * The request was answered with a 429.
   * @param askedS how many seconds the gateway asks to wait; else the pauses grow, with jitter
   */
  refuse(request: number, askedS: number | undefined): void
}

/**
 * @param configured the highest concurrency
 * @param onChange called when the concurrency changes or a pause begins
 */
export function createLaneRate(
  clock: Pick<Clock, 'monotonic' | 'random'>,
  configured: number,
  onChange: (reason: string) => void,
): LaneRate {
  // Requests up to `lastOfBurst` were sent before the lane slowed down: their 429s are of the same burst.
  const state = { concurrency: configured, pausedUntil: 0, sent: 0, lastOfBurst: 0, bursts: 0, clean: 0 }
  return {
    get concurrency() {
      return state.concurrency
    },
    get pausedUntil() {
      return state.pausedUntil
    },
    begin: () => ++state.sent,
    succeed() {
      state.bursts = 0
      if (++state.clean < cleanToGrow || state.concurrency === configured) return
      state.clean = 0
      state.concurrency++
      onChange(`${cleanToGrow} requests in a row went well`)
    },
    refuse(request, askedS) {
      const now = clock.monotonic()
      const isNew = request > state.lastOfBurst
      if (isNew) {
        state.concurrency = Math.max(1, Math.floor(state.concurrency / 2))
        state.lastOfBurst = state.sent
        state.bursts++
      }
      state.clean = 0
      const waitMs = waitBefore(state.bursts - 1, askedS, clock.random()) * 1000
      state.pausedUntil = Math.max(state.pausedUntil, now + Math.max(minPauseMs, waitMs))
      if (isNew) onChange('the gateway asks for fewer requests (HTTP 429)')
    },
  }
}
