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

/** @param onChange called when the concurrency changes or a pause begins */
export function createLaneRate(
  clock: Clock,
  configured: number,
  onChange: (reason: string) => void,
): LaneRate {
  let concurrency = configured
  let pausedUntil = 0
  let sent = 0
  /** Requests up to this number were sent before the lane slowed down: their 429s are of the same burst. */
  let lastOfBurst = 0
  let bursts = 0
  let clean = 0

  return {
    get concurrency() {
      return concurrency
    },
    get pausedUntil() {
      return pausedUntil
    },
    begin: () => ++sent,
    succeed() {
      bursts = 0
      if (++clean < cleanToGrow || concurrency === configured) return
      clean = 0
      concurrency++
      onChange(`${cleanToGrow} requests in a row went well`)
    },
    refuse(request, askedS) {
      const now = clock.monotonic()
      const isNew = request > lastOfBurst
      if (isNew) {
        concurrency = Math.max(1, Math.floor(concurrency / 2))
        lastOfBurst = sent
        bursts++
      }
      clean = 0
      const waitMs = waitBefore(bursts - 1, askedS, clock.random()) * 1000
      pausedUntil = Math.max(pausedUntil, now + Math.max(minPauseMs, waitMs))
      if (isNew) onChange('the gateway wants fewer requests (HTTP 429)')
    },
  }
}
