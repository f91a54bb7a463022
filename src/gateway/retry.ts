import { sleep, type Clock } from '../context.ts'
import { ModelgateError } from '../errors.ts'
import { DeadlinePassed, type ExchangeError, type ExchangeFault } from './exchange-error.ts'
import { checkUsage } from './reply-errors.ts'

/** `text` and `create` cost money, and `create` is repeated only where it cannot cost twice; `read` costs nothing. */
export type RequestKind = 'text' | 'create' | 'read'

export interface RetryPolicy {
  /**
   * `safe` retries look-ups, what the gateway cannot have accepted, and text that it answered with a server error;
   * `always` retries whatever failed.
   */
  readonly mode: 'never' | 'safe' | 'always'
  readonly maxRetries: number
  /** Whether the gateway honours `Idempotency-Key`: then a repeated request does not create a second result. */
  readonly idempotencyHonoured: boolean
  /** Whether only look-ups and downloads are retried, because whoever sends the other requests repeats them itself. */
  readonly readsOnly?: boolean
}

/** When the gateway asks for a longer wait than this, in seconds, the request is given up. */
export const maxWaitS = 120

/** Rejected before any work was done; 522 is Cloudflare's, which could not connect to the gateway. */
export const refusedStatus: ReadonlySet<number> = new Set([408, 425, 429, 503, 522, 529])
/** Failed, perhaps after the work was done (fault C21); from 520 on they are Cloudflare's, which lost the gateway. */
export const failedStatus: ReadonlySet<number> = new Set([500, 502, 504, 520, 521, 523, 524])

/** Errors for which a retry is pointless. */
const finalFaults: ReadonlySet<ExchangeFault> = new Set([
  'certificate',
  'client_certificate',
  'tls',
  'proxy',
  'protocol',
  'limit',
  'source',
  'deadline',
])

/** Whether the request of a broken exchange may be sent again (see docs/faults.md, phases of a request). */
export function mayRepeatBroken(error: ExchangeError, kind: RequestKind, policy: RetryPolicy): boolean {
  if (neverRepeats(kind, policy)) return false
  if (finalFaults.has(error.fault)) return false
  // Until the whole request has been sent, no server can have accepted it.
  if (error.stage === 'connect' || error.stage === 'send' || kind === 'read') return true
  return policy.mode === 'always' || policy.idempotencyHonoured
}

/** Whether a request that was answered with this error may be sent again. */
export function mayRepeatAnswered(error: ModelgateError, kind: RequestKind, policy: RetryPolicy): boolean {
  if (neverRepeats(kind, policy)) return false
  const { shouldRetry, httpStatus: status = 0 } = error.facts
  if (shouldRetry !== undefined) return shouldRetry
  // A spent quota, an unknown model and refused content come with retryable statuses, too.
  if (error.exit === 'rejected' || error.exit === 'key' || error.exit === 'failed') return false
  if (refusedStatus.has(status)) return true
  if (!failedStatus.has(status)) return false
  return kind !== 'create' || policy.mode === 'always' || policy.idempotencyHonoured
}

function neverRepeats(kind: RequestKind, { mode, readsOnly }: RetryPolicy): boolean {
  return mode === 'never' || (readsOnly === true && kind !== 'read')
}

/** Seconds before the next attempt: what the gateway asks for, else exponential with jitter, at most 8 s. */
export function waitBefore(attempt: number, asked: number | undefined, random: number): number {
  if (asked !== undefined) return asked
  return Math.min(8, 0.5 * 2 ** attempt) * (1 - random / 2)
}

/** A failed attempt. */
export class Failure {
  readonly error: ModelgateError
  /** Whether the request may be sent again. */
  readonly repeatable: boolean

  constructor(error: ModelgateError, repeatable: boolean) {
    this.error = error
    this.repeatable = repeatable
  }
}

/** The failure of an attempt, with a hint at `--retry always` where that would make a difference. */
export function judgeFailure(
  error: ModelgateError,
  policy: RetryPolicy,
  mayRepeat: (policy: RetryPolicy) => boolean,
): Failure {
  const repeatable = mayRepeat(policy)
  const wouldHelp = !repeatable && policy.maxRetries > 0 && mayRepeat({ ...policy, mode: 'always' })
  if (error.exit !== 'unknown' || !wouldHelp) return new Failure(error, repeatable)
  return new Failure(
    error.amend({ hint: `${checkUsage}; --retry always repeats such requests.` }),
    repeatable,
  )
}

/** The argument of `onRetry`. */
export interface RetryNotice {
  /** The attempt that failed, from 1. */
  readonly attempt: number
  readonly attempts_left: number
  readonly wait_s: number
  readonly http_status: number | null
  readonly reason: string
}

interface Retry {
  /** Why the attempt failed. */
  readonly error: unknown
  /** The attempt that failed, from 1. */
  readonly attempt: number
  readonly attemptsLeft: number
  readonly waitS: number
}

/**
 * Reports that a request will be sent again, and waits until then.
 * @throws the error of the failed attempt when the time limit passes meanwhile; else the signal's reason
 */
export async function pauseBeforeRetry(
  { clock, onRetry }: { readonly clock: Clock; onRetry(notice: RetryNotice): void },
  signal: AbortSignal,
  { error, attempt, attemptsLeft, waitS }: Retry,
): Promise<void> {
  onRetry({
    attempt,
    attempts_left: attemptsLeft,
    wait_s: Math.round(waitS * 1000) / 1000,
    http_status: error instanceof ModelgateError ? (error.facts.httpStatus ?? null) : null,
    reason: error instanceof Error ? error.message : String(error),
  })
  await sleep(clock, waitS * 1000, signal).catch((reason: unknown) => {
    throw reason instanceof DeadlinePassed ? error : reason
  })
}
