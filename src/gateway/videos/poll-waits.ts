import { pollSeconds } from '../../limits.ts'
import { maxWaitS } from '../retry.ts'

/**
 * The wait before the next look-up of a job, in milliseconds (fault F6): what the gateway asks for, else longer each time, up
 * to the longest, give or take a tenth, so that many do not poll at once.
 * @param elapsedMs since the job was started, or since its first look-up
 * @param askedMs only a positive number counts
 * @param random in [0, 1)
 * @param firstS the first wait in seconds (`--poll-interval`)
 */
export function pollWaitAfter(
  elapsedMs: number,
  askedMs: number | undefined,
  random: number,
  firstS: number = pollSeconds.first,
): number {
  if (askedMs !== undefined && askedMs > 0) {
    return Math.min(maxWaitS * 1000, Math.max(pollSeconds.min * 1000, askedMs))
  }
  const first = Math.max(pollSeconds.min, firstS)
  // Of waits that grow by a factor each is the first one, and so much of all that were before.
  const grown = first + (Math.max(0, elapsedMs) / 1000) * (pollSeconds.growth - 1)
  const usualS = Math.min(Math.max(first, pollSeconds.max), grown)
  return Math.max(pollSeconds.min, usualS * (0.9 + random / 5)) * 1000
}
