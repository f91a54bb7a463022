import { isFinal } from '../../contract/videos.ts'
import { formatState } from '../../events/format-job.ts'
import { sleep } from '../../context.ts'
import { Interrupted, ModelgateError, OutputClosed, type ErrorFacts } from '../../errors.ts'
import { pollSeconds } from '../../limits.ts'
import type { Gateway } from '../gateway.ts'
import { maxWaitS, noticeOf, type RetryNotice } from '../retry.ts'
import { appearanceWait, createJobLookUp, isUnknownJob, type Job } from './job-requests.ts'
import type { JobReport } from './read-job.ts'

/** `attempt` counts those in a row. */
export type FailedLookUp = Omit<RetryNotice, 'attempts_left'>

interface PolledReport {
  readonly state: string
  readonly status: string | null
  readonly progress: number | null
  readonly nextLookUpMs?: number | undefined
}

export interface PolledJob<Report extends PolledReport> {
  readonly id: string
  readonly noun: 'job' | 'response'
  readonly lookUp: (gateway: Gateway) => Promise<Report>
}

export interface WaitOptions<Report extends PolledReport = JobReport> {
  readonly firstWaitS?: number | undefined
  /** On the monotonic clock; never, when left out. */
  readonly deadlineMs?: number | undefined
  /** A known state, which delays the first look-up. */
  readonly first?: Report | undefined
  /** It may not be found yet. Assumed if `first` is given. */
  readonly isNew?: boolean | undefined
  /** Only the job's name is known, so that it may not exist. */
  readonly isUnverified?: boolean | undefined
  /** This call pays for the job; a look-up alone bills nothing. */
  readonly isOwn?: boolean | undefined
  /** How to resume the wait: the hint of every error. */
  readonly goOn?: Pick<ErrorFacts, 'hint' | 'next'> | undefined
  /** Every look-up that worked, and `first`. Progress never goes back (fault F1). */
  readonly onReport?: (report: Report, facts: { readonly elapsedMs: number }) => void
  readonly onFailedLookUp?: (failed: FailedLookUp) => void
}

/** A timer that is so late means that the machine was asleep (fault F19). */
const asleepMs = 5_000
/** For one more look-up after that, when the time for the wait is already over. */
const lastLookUpMs = 10_000

export function waitForJob(gateway: Gateway, job: Job, options: WaitOptions = {}): Promise<JobReport> {
  return waitForEnd(gateway, { id: job.id, noun: 'job', lookUp: createJobLookUp(job) }, options)
}

/**
 * Looks up a job until it has ended. Failed look-ups do not fail it (fault F5). The wall clock may jump: it is not used.
 * @throws ModelgateError `running` (11) at the deadline; `later` (5) after too many failed look-ups; 3, 4 and 8 at once for what
 *   another look-up would not change; Interrupted for a signal. All carry the job's id; the job continues remotely
 */
export async function waitForEnd<Report extends PolledReport>(
  gateway: Gateway,
  job: PolledJob<Report>,
  options: WaitOptions<Report> = {},
): Promise<Report> {
  try {
    return await pollUntilEnd(gateway, job, options)
  } catch (error) {
    if (!(error instanceof ModelgateError) || error instanceof OutputClosed) throw error
    throw describe(error, job, options)
  }
}

/** The job exists even if a look-up failed, and is not safe to start again. */
function describe(
  error: ModelgateError,
  { id }: { readonly id: string },
  { goOn, isUnverified = false, isOwn = false }: Pick<WaitOptions, 'goOn' | 'isUnverified' | 'isOwn'>,
): ModelgateError {
  const { exit, facts } = error
  const isSignal = error instanceof Interrupted
  const isOnlyLost = exit === 'notSent' && !isUnverified
  const mayNotExist = isUnverified && (exit === 'usage' || isUnknownJob(error))
  const looksInVain = exit === 'later' || exit === 'notSent'
  return error.amend({
    exit: isOnlyLost ? 'later' : undefined,
    remoteId: id,
    billed: mayNotExist ? undefined : looksInVain && !isOwn ? 'no' : 'yes',
    phase: isSignal ? 'wait' : undefined,
    ...(isSignal || isOnlyLost || exit === 'running' || exit === 'later' ? goOn : {}),
    ...(isOnlyLost && { hint: [facts.hint, goOn?.hint].filter((line) => line !== undefined).join(' ') }),
  })
}

async function pollUntilEnd<Report extends PolledReport>(
  gateway: Gateway,
  job: PolledJob<Report>,
  options: WaitOptions<Report>,
): Promise<Report> {
  const { clock, signal } = gateway
  const { first, isNew = false, deadlineMs = Infinity } = options
  const begun = clock.monotonic()
  const elapsedMs = () => clock.monotonic() - begun
  const pollWait = (askedMs: number | undefined) =>
    pollWaitAfter(elapsedMs(), askedMs, clock.random(), options.firstWaitS)
  let failures = 0
  let failingSince: number | undefined
  let latest: Report | undefined
  /** How often a job that was just started was not found; undefined for one that must be there. */
  let absences = isNew || first !== undefined ? 0 : undefined

  const take = (report: Report): Report => {
    latest = neverBack(report, latest)
    options.onReport?.(latest, { elapsedMs: elapsedMs() })
    return latest
  }
  // A timer may fire a little before its time.
  const isOurDeadline = ({ code }: ModelgateError) => deadlineMs < Infinity && code === 'deadline'
  const stillRunning = () => runningError(job, latest, elapsedMs())

  /** @returns whether that took far longer than it should have */
  const pause = async (ms: number): Promise<boolean> => {
    const from = clock.monotonic()
    if (from >= deadlineMs) throw stillRunning()
    const until = Math.min(from + ms, deadlineMs)
    if (until > from) await sleep(clock, until - from, signal)
    const wasAsleep = clock.monotonic() - until > asleepMs
    if (wasAsleep) failingSince = undefined
    else if (until === deadlineMs) throw stillRunning()
    return wasAsleep
  }

  const failed = (error: unknown): number => {
    const appearsMs = absences === undefined ? undefined : appearanceWait(error, absences)
    if (absences !== undefined && appearsMs !== undefined) absences++
    if (!(error instanceof ModelgateError) || signal.aborted) throw error
    if (appearsMs === undefined && !mayPass(error)) throw error
    const now = clock.monotonic()
    if (now >= deadlineMs || isOurDeadline(error)) throw stillRunning()
    failingSince ??= now
    if (++failures >= lookUpFailures.most || now - failingSince >= lookUpFailures.minutes * 60_000)
      throw gaveUp(error, failures)
    const { retryAfterS } = error.facts
    const waitMs = appearsMs ?? pollWait(retryAfterS && retryAfterS * 1000)
    options.onFailedLookUp?.({ attempt: failures, ...noticeOf(error, waitMs / 1000) })
    return waitMs
  }

  let report = first === undefined ? undefined : take(first)
  let waitMs = report === undefined ? 0 : pollWait(report.nextLookUpMs)
  while (report === undefined || !isFinal(report.state)) {
    const shortest = (await pause(waitMs)) ? lastLookUpMs : -Infinity
    const left = Math.max(deadlineMs - clock.monotonic(), shortest)
    try {
      report = take(await job.lookUp(forOne(gateway, left)))
      failures = 0
      failingSince = absences = undefined
      waitMs = pollWait(report.nextLookUpMs)
    } catch (error) {
      waitMs = failed(error)
    }
  }
  return report
}

/** It is not retried, and is limited to the time that is left. */
function forOne({ policy, limits, ...gateway }: Gateway, leftMs: number): Gateway {
  return {
    ...gateway,
    policy: { ...policy, maxRetries: 0 },
    limits: leftMs < Infinity ? { ...limits, total: leftMs } : limits,
  }
}

/** Progress that goes back is not shown (fault F1). */
function neverBack<Report extends PolledReport>(report: Report, before: Report | undefined): Report {
  const furthest = before?.progress ?? null
  if (furthest === null || (report.progress ?? 0) >= furthest) return report
  return { ...report, progress: furthest }
}

function runningError(
  { noun }: Pick<PolledJob<PolledReport>, 'noun'>,
  latest: PolledReport | undefined,
  elapsedMs: number,
): ModelgateError {
  const seconds = Math.round(elapsedMs / 1000)
  const message =
    latest === undefined
      ? `The ${noun} may still be running; no look-up worked within ${seconds} s.`
      : `The ${noun} is still ${formatState(latest)} after ${seconds} s.`
  return new ModelgateError('running', 'still_running', message, { phase: 'wait' })
}

/** In a row, when the wait is given up (fault F5). */
export const lookUpFailures = { most: 10, minutes: 15 } as const

/** Those of the job itself, or of this machine, rather than of one reply. */
const finalCodes = new Set<string>(['other_job', 'no_such_job', 'not_sent_certificate'])
/** Client errors that may be temporary. */
const passing = new Set([408, 425, 429])

/**
 * Whether the next look-up may work. A refused key, an unknown or another job will not change; a busy gateway, a lost connection,
 * and a proxy's error page may. `x-should-retry: false` does not end the wait: the job has been paid for (fault F5).
 */
export function mayPass(error: unknown): error is ModelgateError {
  if (!(error instanceof ModelgateError) || finalCodes.has(error.code)) return false
  const { httpStatus = 0, shouldRetry } = error.facts
  if (shouldRetry === true) return true
  if (passing.has(httpStatus) || httpStatus >= 500) return true
  // Neither a refusal nor a redirect to another address will change.
  if (httpStatus >= 300) return false
  return ['later', 'contract', 'notSent', 'unknown'].includes(error.exit)
}

/** The job may still be running. */
function gaveUp(last: ModelgateError, count: number): ModelgateError {
  const times = count === 1 ? '' : ` ${count} times in a row`
  const message = `Looking up the job failed${times}. The last error: ${last.message}`
  return last.amend({ exit: 'later', message, cause: last })
}

/**
 * Milliseconds until the next look-up (fault F6): as the gateway asks, else longer each time, give or take a tenth, so that many
 * do not poll at once.
 * @param elapsedMs since the job was started, or since its first look-up
 * @param askedMs only a positive number counts
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
  // Where waits grow by a factor, each is the first one plus a fixed share of the time that has passed.
  const grown = first + (Math.max(0, elapsedMs) / 1000) * (pollSeconds.growth - 1)
  const usualS = Math.min(Math.max(first, pollSeconds.max), grown)
  return Math.max(pollSeconds.min, usualS * (0.9 + random / 5)) * 1000
}
