import { isFinal } from '../../contract/video-state.ts'
import { formatState } from '../../events/format-job.ts'
import { sleep } from '../../context.ts'
import { Interrupted, ModelgateError, OutputClosed, type ErrorFacts } from '../../errors.ts'
import type { Gateway } from '../gateway.ts'
import {
  appearanceWait,
  createJobLookUp,
  gaveUp,
  isUnknownJob,
  lookUpFailures,
  mayPass,
  pollWaitAfter,
  type Job,
} from './look-up-job.ts'
import type { JobReport } from './job-fields.ts'

/** A failed look-up; the job itself may be fine. */
export interface FailedLookUp {
  /** In a row, from 1. */
  readonly attempt: number
  /** Until the next one, in seconds. */
  readonly waitS: number
  readonly httpStatus: number | null
  readonly reason: string
}

interface PolledReport {
  readonly state: string
  /** The gateway's own name for the state. */
  readonly status: string | null
  /** 0 to 100. */
  readonly progress: number | null
  /** The time until the next look-up that the gateway asks for. */
  readonly nextLookUpMs?: number | undefined
}

/** Something under way at the gateway, and how it is looked up. */
export interface PolledJob<Report extends PolledReport> {
  readonly id: string
  readonly noun: 'job' | 'response'
  readonly lookUp: (gateway: Gateway) => Promise<Report>
}

export interface WaitOptions<Report extends PolledReport = JobReport> {
  /** The first wait between two look-ups, in seconds. */
  readonly firstWaitS?: number | undefined
  /** When the wait ends, on the gateway's monotonic clock, in milliseconds; never, when left out. */
  readonly deadlineMs?: number | undefined
  /** A known state of the job, which delays the first look-up. */
  readonly first?: Report | undefined
  /** Whether it was started a moment ago, so that it may not be found yet. Assumed if `first` is given. */
  readonly isNew?: boolean | undefined
  /** Whether only the job's name is known, so that it may not exist. */
  readonly isUnverified?: boolean | undefined
  /** Whether this call has started the job, and pays for it; a look-up alone bills nothing. */
  readonly isOwn?: boolean | undefined
  /** How to resume the wait, as a sentence or a command: the hint of every error. */
  readonly goOn?: Pick<ErrorFacts, 'hint' | 'next'> | undefined
  /** Every look-up that worked, and the first report. Its progress never goes back (fault F1). */
  readonly onReport?: (report: Report, facts: { readonly elapsedMs: number }) => void
  readonly onFailedLookUp?: (failed: FailedLookUp) => void
}

/** A timer that fires this much too late, in milliseconds, means that the machine was asleep (fault F19). */
const asleepMs = 5_000
/** The time for one more look-up after that, when the time for the wait is already over. */
const lastLookUpMs = 10_000

/** Waits for a video or an operation as `waitForEnd` does. */
export function waitForJob(gateway: Gateway, job: Job, options: WaitOptions = {}): Promise<JobReport> {
  return waitForEnd(gateway, { id: job.id, noun: 'job', lookUp: createJobLookUp(job) }, options)
}

/**
 * Looks up a job until it has ended. Failed look-ups do not fail the job (fault F5). Only the monotonic
 * clock is used: the wall clock may jump.
 * @throws ModelgateError `running` (11) at the deadline; `later` (5) after too many failed look-ups; 3, 4 and 8 at
 *   once for what another look-up would not change; Interrupted for a signal. All carry the job's id; the job
 *   continues remotely
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

/** The error with what it means for the job, which exists even if a look-up failed, and is not safe to start again. */
function describe(
  error: ModelgateError,
  { id }: { readonly id: string },
  { goOn, isUnverified = false, isOwn = false }: Pick<WaitOptions, 'goOn' | 'isUnverified' | 'isOwn'>,
): ModelgateError {
  const { exit, facts } = error
  const isSignal = error instanceof Interrupted
  const mayNotExist = isUnverified && (exit === 'usage' || isUnknownJob(error))
  const looksInVain = exit === 'later' || exit === 'notSent'
  const described = error.amend({
    remoteId: id,
    billed: mayNotExist ? undefined : looksInVain && !isOwn ? 'no' : 'yes',
    phase: isSignal ? 'wait' : undefined,
    ...(isSignal || exit === 'running' || exit === 'later' ? goOn : {}),
  })
  if (exit !== 'notSent' || isUnverified) return described
  const hint = [facts.hint, goOn?.hint].filter((line) => line !== undefined).join(' ')
  return described.amend({ exit: 'later', ...goOn, hint })
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

  /** Waits; resolves with whether that took far longer than it should have. */
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
    options.onFailedLookUp?.({
      attempt: failures,
      waitS: Math.round(waitMs) / 1000,
      httpStatus: error.facts.httpStatus ?? null,
      reason: error.message,
    })
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

/** The gateway for one look-up: it is not retried, and is limited to the time that is left. */
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
