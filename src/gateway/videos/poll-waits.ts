import { pollSeconds } from '../../contract/videos.ts'
import { longestWaitS } from '../retry.ts'

/** The waits between look-ups, in milliseconds (fault F6). */
export interface PollWaits {
  /**
   * The next one: what the gateway asks for, else longer each time up to the longest, give or take a tenth, so that
   * many programs do not ask at the same moment.
   * @param askedMs what the gateway asks for; nothing but a positive number counts
   */
  next(askedMs: number | undefined, random: number): number
}

/** @param firstS the first wait in seconds (`--poll-interval`) */
export function createPollWaits(firstS: number = pollSeconds.first): PollWaits {
  let waitS = Math.max(pollSeconds.shortest, firstS)
  const longest = Math.max(waitS, pollSeconds.longest)
  return {
    next(askedMs, random) {
      const usual = Math.max(pollSeconds.shortest, waitS * (0.9 + random / 5))
      waitS = Math.min(longest, waitS * pollSeconds.growth)
      if (askedMs === undefined || !(askedMs > 0)) return usual * 1000
      return Math.min(longestWaitS * 1000, Math.max(pollSeconds.shortest * 1000, askedMs))
    },
  }
}
