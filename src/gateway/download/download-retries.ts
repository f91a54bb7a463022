import { propagation } from '../../contract/videos.ts'
import { ModelgateError } from '../../errors.ts'
import { ExchangeError } from '../exchange-error.ts'
import { brokenError } from '../send-request.ts'
import { longestWaitS, mayRepeatAnswered, mayRepeatBroken, waitBefore, type RetryPolicy } from '../retry.ts'
import { Refusal } from './request-url.ts'
import { ContentChanged, contentChanged, NotWhole, RangeMismatch } from './transfer-errors.ts'

/** What becomes of a download that failed. */
export interface DownloadRetry {
  /** What is thrown when it is given up. */
  readonly error: unknown
  /** Seconds until the next attempt; undefined when there is none. */
  readonly waitS: number | undefined
  /** The next attempt asks for everything. */
  readonly fromStart: boolean
  /** What has come is of no use for it. */
  readonly anew: boolean
  /** The attempt that failed, from 1. */
  readonly attempt: number
  readonly attemptsLeft: number
}

/** How often a download that broke off is taken up again (fault F14). */
const maxResumes = 3
/** A result may take a moment to appear under its URL: the waits between further looks grow evenly (fault F12). */
const missingWaitsS: readonly number[] = Array.from(
  { length: propagation.retries },
  (_, index) => (propagation.seconds * 2 * (index + 1)) / (propagation.retries * (propagation.retries + 1)),
)
/** Statuses of a result that may appear. */
const notThereYet = new Set([202, 404])

/**
 * Counts the failures of one download by their kind, and says after each what to do.
 * @param mayAppear whether content that is not there may still appear
 */
export function createDownloadRetries(policy: RetryPolicy, mayAppear = true) {
  let resumed = 0
  let missing = 0
  let repeated = 0
  let attempt = 0
  const never = policy.mode === 'never'

  const decide = (failure: unknown, random: number): Omit<DownloadRetry, 'attempt' | 'anew'> => {
    const giveUp = (error: unknown) => ({ error, waitS: undefined, fromStart: false, attemptsLeft: 0 })
    const resume = (error: unknown, fromStart: boolean) =>
      never || resumed >= maxResumes
        ? giveUp(error)
        : {
            error,
            waitS: waitBefore(resumed++, undefined, random),
            fromStart,
            attemptsLeft: maxResumes - resumed,
          }
    const repeat = (error: ModelgateError, mayRepeat: boolean) => {
      const asked = error.facts.retryAfterS
      if (!mayRepeat || repeated >= policy.maxRetries || (asked ?? 0) > longestWaitS) return giveUp(error)
      const waitS = waitBefore(repeated++, asked, random)
      return { error, waitS, fromStart: false, attemptsLeft: policy.maxRetries - repeated }
    }

    if (failure instanceof RangeMismatch) return resume(unfit(), true)
    if (failure instanceof ContentChanged) return resume(contentChanged(), true)
    if (failure instanceof NotWhole)
      return failure.isSettled ? giveUp(failure.error) : resume(failure.error, true)
    if (failure instanceof ExchangeError) {
      const error = brokenError(failure, 'read')
      const mayRepeat = mayRepeatBroken(failure, 'read', policy)
      return failure.stage === 'body' && mayRepeat ? resume(error, false) : repeat(error, mayRepeat)
    }
    if (!(failure instanceof Refusal)) return giveUp(failure)
    const { error, headers } = failure
    if (error.facts.httpStatus === 416) return resume(error, true)
    if (error.code === 'url_expired' || !notThereYet.has(error.facts.httpStatus ?? 0))
      return repeat(error, mayRepeatAnswered(error, headers, 'read', policy))
    const waitS = never || !mayAppear ? undefined : missingWaitsS[missing++]
    return { error, waitS, fromStart: false, attemptsLeft: missingWaitsS.length - missing }
  }
  return {
    next: (failure: unknown, random: number): DownloadRetry => ({
      ...decide(failure, random),
      anew: failure instanceof ContentChanged,
      attempt: ++attempt,
    }),
  }
}

function unfit(): ModelgateError {
  return new ModelgateError(
    'later',
    'wrong_range',
    'The server sends other parts of the content than were asked for.',
    {
      phase: 'result',
      billed: 'no',
      hint: 'Run it again later.',
    },
  )
}
