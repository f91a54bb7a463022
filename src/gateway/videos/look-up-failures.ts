import { lookUpFailures } from '../../contract/videos.ts'
import { ModelgateError } from '../../errors.ts'

/** Counts look-ups that failed in a row; they say nothing about the job (fault F5). */
export interface LookUpFailures {
  /** How many there have been since the last that worked. */
  readonly count: number
  /** One more, at this time of the monotonic clock. True when it is time to give up. */
  add(nowMs: number): boolean
  /** A look-up worked. */
  clear(): void
  /** The time until now is not the gateway's doing: this machine was asleep. */
  forgetTime(): void
}

export function createLookUpFailures(): LookUpFailures {
  let count = 0
  let since: number | undefined
  return {
    get count() {
      return count
    },
    add(nowMs) {
      since ??= nowMs
      return ++count >= lookUpFailures.most || nowMs - since >= lookUpFailures.minutes * 60_000
    },
    clear() {
      count = 0
      since = undefined
    },
    forgetTime() {
      since = undefined
    },
  }
}

/** Errors that speak of the job itself, or of this machine, rather than of one reply. */
const finalCodes = new Set([
  'other_job',
  'no_such_video',
  'no_such_operation',
  'bad_operation_name',
  'bad_path_segment',
  'not_sent_certificate',
  'not_sent_client_certificate',
  'unexpected_redirect',
])
/** Statuses of refusal that may pass. */
const passing = new Set([408, 425, 429])

/**
 * Whether a look-up that failed so may work the next time. A refused key, a job that is not known, and another job
 * than the one asked for stay what they are; a busy gateway, a lost connection, and a page of a proxy do not.
 */
export function mayPass(error: unknown): error is ModelgateError {
  if (!(error instanceof ModelgateError) || finalCodes.has(error.code)) return false
  const { httpStatus = 0 } = error.facts
  if (passing.has(httpStatus) || httpStatus >= 500) return true
  if (httpStatus >= 400) return false
  return ['later', 'contract', 'notSent', 'unknown'].includes(error.exit)
}

/** The wait has come to nothing; the job may be running all the same. */
export function gaveUp(last: ModelgateError, count: number): ModelgateError {
  const message = `${count} look-up${count === 1 ? '' : 's'} in a row failed. The last one: ${last.message}`
  return new ModelgateError('later', 'look_ups_failed', message, { ...last.facts, cause: last })
}
