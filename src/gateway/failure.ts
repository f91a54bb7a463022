import { Interrupted, ModelgateError } from '../errors.ts'
import type { RetryPolicy } from './retry.ts'
import { checkUsage } from './status-error.ts'

/** How one attempt failed. */
export class Failure {
  readonly error: ModelgateError
  /** Whether the request may be sent again. */
  readonly repeatable: boolean

  constructor(error: ModelgateError, repeatable: boolean) {
    this.error = error
    this.repeatable = repeatable
  }
}

/** A failure under the policy in force, with the hint at `--retry always` where that would have made a difference. */
export function judgeFailure(
  error: ModelgateError,
  policy: RetryPolicy,
  mayRepeat: (policy: RetryPolicy) => boolean,
): Failure {
  const repeatable = mayRepeat(policy)
  const wouldHelp = !repeatable && policy.maxRetries > 0 && mayRepeat({ ...policy, mode: 'always' })
  if (error.exit !== 'unknown' || !wouldHelp) return new Failure(error, repeatable)
  const facts = { ...error.facts, hint: `${checkUsage}; --retry always repeats such requests.` }
  return new Failure(new ModelgateError(error.exit, error.code, error.message, facts), repeatable)
}

/** Why a wait between two attempts ended: a signal does not undo what the attempt before it may have cost. */
export function afterFailure(reason: unknown, { error: { facts } }: Failure): unknown {
  const { phase = 'reply', billed = 'no' } = facts
  return reason instanceof Interrupted ? reason.during(phase, billed) : reason
}
