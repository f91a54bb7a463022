import { pollSeconds } from '../../limits.ts'
import { maxWaitS } from '../retry.ts'

/**
 * In milliseconds: what the gateway asks for, else the usual, give or take a tenth, so that many do not poll at once.
 * @param askedMs only a positive number counts
 * @param random in [0, 1)
 */
function waitFor(usualS: number, askedMs: number | undefined, random: number): number {
  if (askedMs === undefined || !(askedMs > 0)) {
    return Math.max(pollSeconds.min, usualS * (0.9 + random / 5)) * 1000
  }
  return Math.min(maxWaitS * 1000, Math.max(pollSeconds.min * 1000, askedMs))
}

/**
 * The waits between look-ups, in milliseconds (fault F6).
 * @param firstS the first wait in seconds (`--poll-interval`)
 */
export function createPollWaits(firstS: number = pollSeconds.first) {
  let usualS = Math.max(pollSeconds.min, firstS)
  const maxS = Math.max(usualS, pollSeconds.max)
  return {
    /** Longer each time, up to the longest. @param askedMs what the gateway asks for; only a positive number counts */
    next(askedMs: number | undefined, random: number): number {
      const waitMs = waitFor(usualS, askedMs, random)
      usualS = Math.min(maxS, usualS * pollSeconds.growth)
      return waitMs
    },
  }
}

/**
 * The wait before the next look-up for one who does not know the waits before: they grow as fast.
 * @param firstS the first wait in seconds
 * @param elapsedMs since the job was started
 */
export function pollWaitAfter(
  elapsedMs: number,
  askedMs: number | undefined,
  random: number,
  firstS: number = pollSeconds.first,
): number {
  const first = Math.max(pollSeconds.min, firstS)
  // Of waits that grow by a factor each is the first one, and so much of all that were before.
  const grown = first + (Math.max(0, elapsedMs) / 1000) * (pollSeconds.growth - 1)
  return waitFor(Math.min(Math.max(first, pollSeconds.max), grown), askedMs, random)
}
