import { sleep, type Clock } from '../context.ts'
import { Interrupted, ModelgateError } from '../errors.ts'
import type { ReplyHeaders } from './exchange.ts'
import { DeadlinePassed, ExchangeError, type ExchangeFault } from './exchange-error.ts'
import { checkUsage } from './reply-errors.ts'

/** `text` and `create` cost money, and `create` is repeated only where it cannot cost twice; `read` costs nothing. */
export type RequestKind = 'text' | 'create' | 'read'

export interface RetryPolicy {
  /** `safe` retries look-ups, what cannot have been accepted, and text after a server error; `always` whatever failed. */
  readonly mode: 'never' | 'safe' | 'always'
  readonly maxRetries: number
  /** Whether the gateway honours `Idempotency-Key`: then a repeated request does not create a second result. */
  readonly idempotencyHonoured: boolean
  /** Only look-ups and downloads are retried: whoever sends the other requests repeats them itself. */
  readonly readsOnly?: boolean
}

/** When the gateway asks for a longer wait than this, in seconds, the request is given up. */
export const maxWaitS = 120

/** Rejected before any work was done; 522 is Cloudflare's, which could not connect to the gateway. */
export const refusedStatus: ReadonlySet<number> = new Set([408, 425, 429, 503, 522, 529])
/** Failed, perhaps after the work was done (fault C21); from 520 on they are Cloudflare's, which lost the gateway. */
export const failedStatus: ReadonlySet<number> = new Set([500, 502, 504, 520, 521, 523, 524])

/** The next attempt ends with any other fault again. */
const passingFaults: ReadonlySet<ExchangeFault> = new Set(['dns', 'connect', 'timeout', 'reset'])

/** Whether a request that ended with this error may be sent again (see docs/faults.md, phases of a request). */
export function mayRepeat(error: ModelgateError, kind: RequestKind, policy: RetryPolicy): boolean {
  if (policy.mode === 'never' || (policy.readsOnly === true && kind !== 'read')) return false
  const mayCreateAgain = policy.mode === 'always' || policy.idempotencyHonoured
  const { shouldRetry, httpStatus: status = 0, cause } = error.facts
  if (cause instanceof ExchangeError) {
    if (!passingFaults.has(cause.fault)) return false
    // Until the whole request has been sent, no server can have accepted it.
    return cause.stage === 'connect' || cause.stage === 'send' || kind === 'read' || mayCreateAgain
  }
  if (shouldRetry !== undefined) return shouldRetry
  // A spent quota, an unknown model and refused content come with retryable statuses, too.
  if (error.exit === 'rejected' || error.exit === 'key' || error.exit === 'failed') return false
  return refusedStatus.has(status) || (failedStatus.has(status) && (kind !== 'create' || mayCreateAgain))
}

/** Seconds: what the gateway asks for, else exponential with jitter, at most 8 s. */
export function waitBefore(attempt: number, asked: number | undefined, random: number): number {
  if (asked !== undefined) return asked
  return Math.min(8, 0.5 * 2 ** attempt) * (1 - random / 2)
}

export class Failure extends Error {
  readonly error: ModelgateError
  readonly repeatable: boolean
  /** It may still appear: it is asked for again soon, and only a few times. */
  readonly isAbsent: boolean

  constructor(error: ModelgateError, repeatable: boolean, isAbsent = false) {
    super(error.message)
    this.error = error
    this.repeatable = repeatable
    this.isAbsent = isAbsent
  }
}

/** The failure of an attempt, with a hint at `--retry always` where that would make a difference. */
export function judgeFailure(error: ModelgateError, kind: RequestKind, policy: RetryPolicy): Failure {
  const repeatable = mayRepeat(error, kind, policy)
  const wouldHelp = policy.maxRetries > 0 && mayRepeat(error, kind, { ...policy, mode: 'always' })
  if (repeatable || !wouldHelp || error.exit !== 'unknown') return new Failure(error, repeatable)
  return new Failure(error.amend({ hint: `${checkUsage}; --retry always repeats such requests.` }), false)
}

/** Waits, in seconds, for what is new and not found yet: a gateway may have several servers (faults C11 and F12). */
export const absenceWaitsS: readonly number[] = [1, 3, 6]

interface Retrying {
  readonly clock: Clock
  readonly policy: RetryPolicy
  onRetry(notice: RetryNotice): void
}

/**
 * Makes attempts until one succeeds, or no other may follow.
 * @throws the last error, which may have been billed if an earlier one may; what else is thrown; the signal's reason
 */
export async function withRetries<Result>(
  { clock, policy, onRetry }: Retrying,
  signal: AbortSignal,
  attempt: () => Promise<Result | Failure>,
): Promise<Result> {
  let repeated = 0
  let absent = 0
  let isLost = false
  for (let count = 1; ; count++) {
    const outcome = await attempt().catch((error: unknown) => {
      if (error instanceof Failure) return error
      throw error
    })
    if (!(outcome instanceof Failure)) return outcome
    const { repeatable, isAbsent } = outcome
    const error: ModelgateError = isLost ? afterLost(outcome.error) : outcome.error
    isLost = error.facts.billed === 'maybe'
    const asked = error.facts.retryAfterS
    const attemptsLeft = isAbsent ? absenceWaitsS.length - absent : policy.maxRetries - repeated
    if (policy.mode === 'never' || !repeatable || attemptsLeft <= 0) throw error
    if (!isAbsent && asked !== undefined && asked > maxWaitS) throw tooLong(error, asked)
    const waitS = isAbsent ? absenceWaitsS[absent++]! : waitBefore(repeated++, asked, clock.random())
    const retry = { error, attempt: count, attempts_left: attemptsLeft, waitS }
    await pauseBeforeRetry({ clock, onRetry }, signal, retry).catch((reason: unknown) => {
      // A signal does not undo what the failed attempt may have cost.
      const { phase = 'reply', billed = 'no' } = error.facts
      throw reason instanceof Interrupted ? reason.amend({ phase, billed }) : reason
    })
  }
}

/** What this failure says of the last attempt does not hold for one before it, which may have done the work. */
function afterLost(error: ModelgateError): ModelgateError {
  const billed = error.facts.billed === 'yes' ? 'yes' : 'maybe'
  if (error.exit !== 'later' && error.exit !== 'notSent') return error.amend({ billed })
  return error.amend({
    exit: 'unknown',
    billed,
    hint: `An earlier attempt may have done the work. ${checkUsage}.`,
  })
}

/** The request is given up. What may have been billed still has an unknown outcome. */
function tooLong(error: ModelgateError, seconds: number): ModelgateError {
  const wait = `It asks to wait ${Math.ceil(seconds)} s, longer than the ${maxWaitS} s this program waits.`
  const message = `${error.message} ${wait}`
  if (error.exit === 'unknown') return error.amend({ message })
  return error.amend({ exit: 'later', message, hint: 'Run it again then.' })
}

export interface RetryNotice {
  /** That failed, from 1. */
  readonly attempt: number
  readonly attempts_left: number
  readonly wait_s: number
  readonly http_status: number | null
  readonly reason: string
}

interface RetryFacts extends Pick<RetryNotice, 'attempt' | 'attempts_left'> {
  readonly error: unknown
  readonly waitS: number
}

/** Reports a retry and waits. @throws the error when the time limit passes meanwhile; else the signal's reason */
export async function pauseBeforeRetry(
  { clock, onRetry }: Pick<Retrying, 'clock' | 'onRetry'>,
  signal: AbortSignal,
  { error, waitS, ...counts }: RetryFacts,
): Promise<void> {
  onRetry({ ...counts, ...noticeOf(error, waitS) })
  await sleep(clock, waitS * 1000, signal).catch((reason: unknown) => {
    throw reason instanceof DeadlinePassed ? error : reason
  })
}

export function noticeOf(error: unknown, waitS: number) {
  return {
    wait_s: Math.round(waitS * 1000) / 1000,
    http_status: error instanceof ModelgateError ? (error.facts.httpStatus ?? null) : null,
    reason: error instanceof Error ? error.message : String(error),
  }
}

/** Seconds; undefined when the gateway does not say, or nothing sensible. */
export function waitHint(
  headers: ReplyHeaders,
  bodySeconds: number | undefined,
  now: number,
): number | undefined {
  const ms = plainNumber(headers['retry-after-ms'])
  return ms === undefined ? (retryAfter(headers, now) ?? bodySeconds) : ms / 1000
}

/** `Retry-After` in seconds or as an HTTP date; a date counts from the reply's own `Date`, whatever the clock here says. */
function retryAfter(headers: ReplyHeaders, now: number): number | undefined {
  const text = headers['retry-after']
  const seconds = plainNumber(text)
  if (seconds !== undefined) return seconds
  const until = httpDate(text)
  if (until === undefined) return undefined
  return Math.max(0, until - (httpDate(headers['date']) ?? now)) / 1000
}

function plainNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d{1,15}(\.\d+)?\s*$/.test(text) ? Number(text) : undefined
}

/** A date in any of HTTP's three forms. That of C, `Thu Jan  1 00:00:30 2026`, does not say that it is in UTC. */
function httpDate(text: string | undefined): number | undefined {
  // Only what looks like a date: Date.parse reads a year out of "-5".
  const isDate = text !== undefined && /^\w{3,9},? /.test(text.trim())
  const time = isDate ? Date.parse(text.includes(',') ? text : `${text} UTC`) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}
