import { lastSegment } from '../../contract/video-state.ts'
import { videoStatusEndpoint } from '../../contract/videos.ts'
import type { JobKind } from '../../events/video.ts'
import { GenerationError, ModelgateError } from '../../errors.ts'
import { pollSeconds } from '../../limits.ts'
import type { Gateway, GatewayRequest } from '../gateway.ts'
import { lookUpRequest } from '../send-request.ts'
import { pathSegment, type Roots } from '../url.ts'
import { absenceWaitsS, Failure, maxWaitS, withRetries } from '../retry.ts'
import { requestJob } from './start-job.ts'
import { operationPath } from './read-job.ts'
import type { JobReport } from './job-fields.ts'

/** Without an answer, or progress in it, a look-up fails: the answer is short, and another look-up will follow. */
const lookUpSeconds = 60

export interface Job {
  /** The id of a video, or the name of an operation. */
  readonly id: string
  readonly kind: JobKind
}

/** @throws ModelgateError 4 for an unknown job, 3 for a refused key, 5 for what may pass, 8 for what is no job; UsageError */
export async function lookUpJob(gateway: Gateway, job: Job): Promise<JobReport> {
  return await createJobLookUp(job)(gateway)
}

/** A gateway that has no path for operations (quirk 26) is asked for a video of that id; which works is remembered. */
export function createJobLookUp({ id, kind }: Job): (gateway: Gateway) => Promise<JobReport> {
  let known: readonly string[] | undefined
  return async (gateway) => {
    const paths =
      known ?? (kind === 'video' ? [videoPath(id)] : [operationPath(id), videoPath(lastSegment(id))])
    let missing: ModelgateError | undefined
    for (const path of paths) {
      try {
        const request = lookUpRequest(gateway, path)
        const report = await asLookUp(gateway, (own) => requestJob(own, request, { id, kind }))
        known = [path]
        return report
      } catch (error) {
        if (!isMissing(error)) throw error
        missing ??= error
      }
    }
    throw paths.length > 1 ? noOperationPath(missing!, id) : noSuchJob(missing!, id, kind)
  }
}

/** @throws UsageError for a name that is not a path */
export function jobLookUp(gateway: Roots, { id, kind }: Job): GatewayRequest {
  return lookUpRequest(gateway, kind === 'video' ? videoPath(id) : operationPath(id))
}

function videoPath(id: string): string {
  return videoStatusEndpoint.path.replace('{video_id}', pathSegment(id, 'the id of a video'))
}

/** What goes wrong with one look-up says nothing about the job, and is never billed. */
export async function asLookUp<Report>(
  gateway: Gateway,
  ask: (gateway: Gateway) => Promise<Report>,
): Promise<Report> {
  try {
    return await ask({ ...gateway, limits: lookUpLimits(gateway.limits) })
  } catch (error) {
    if (!(error instanceof ModelgateError)) throw error
    // An error instead of the job says nothing about the job; nor does a reply that was cut or stalled.
    if (error instanceof GenerationError || error.exit === 'unknown')
      throw error.amend({ exit: 'later', billed: 'no', hint: 'Run it again later.' })
    throw error.facts.billed === 'maybe' ? error.amend({ billed: 'no' }) : error
  }
}

/** A reply that trickles in must not hold up the next look-ups. */
function lookUpLimits(limits: Gateway['limits']): Gateway['limits'] {
  const atMost = (ms = Infinity) => Math.min(ms, lookUpSeconds * 1000)
  const { firstByte, idle, progress } = limits
  return { ...limits, firstByte: atMost(firstByte), idle: atMost(idle), progress: atMost(progress) }
}

/** Relays answer 400 for an id they do not know (quirk 24), and not every gateway has every path. */
export function isMissing(error: unknown): error is ModelgateError {
  if (!(error instanceof ModelgateError)) return false
  return error.facts.httpStatus === 404 || error.code === 'task_not_exist' || isNoPath(error)
}

function isNoPath({ facts, message }: ModelgateError): boolean {
  return facts.httpStatus === 405 || facts.httpStatus === 501 || /\binvalid url\b/i.test(message)
}

/** Milliseconds until a new job is looked up again; undefined when it will not appear. @param before how often that was before */
export function appearanceWait(error: unknown, before: number): number | undefined {
  const waitS = absenceWaitsS[before]
  return waitS !== undefined && mayAppear(error) ? waitS * 1000 : undefined
}

function mayAppear(error: unknown): boolean {
  if (!(error instanceof ModelgateError) || !isUnknownJob(error)) return false
  return !(error.cause instanceof ModelgateError && isNoPath(error.cause))
}

export function isUnknownJob({ code }: ModelgateError): boolean {
  return code === 'no_such_job'
}

/** A job that is new and not found yet is looked up three more times, within ten seconds (fault C11). */
export async function lookUpOnce<Report>(
  { clock, signal }: Pick<Gateway, 'clock' | 'signal'>,
  lookUp: () => Promise<Report>,
  { isNew }: { readonly isNew: boolean },
): Promise<Report> {
  const policy = { mode: 'safe', maxRetries: 0, idempotencyHonoured: false } as const
  return await withRetries({ clock, policy, onRetry() {} }, signal, () =>
    lookUp().catch((error: unknown) => {
      throw isNew && mayAppear(error) ? new Failure(error as ModelgateError, true, true) : error
    }),
  )
}

export function noSuchJob(cause: ModelgateError, id: string, what: JobKind | 'response'): ModelgateError {
  return unknownJob(
    cause,
    id,
    `The gateway knows no ${what} ${id}.`,
    'Check the id, the base URL (--base-url) and whose key it is; gateways keep results only for a while.',
  )
}

function noOperationPath(cause: ModelgateError, id: string): ModelgateError {
  return unknownJob(
    cause,
    id,
    `The gateway has no status of the operation ${id}, neither under /v1beta nor as a video.`,
    'It may not support looking up operations: look for the video in its own list of tasks.',
  )
}

function unknownJob(cause: ModelgateError, id: string, text: string, hint: string): ModelgateError {
  const message = `${text} ${cause.message}`
  return cause.amend({ exit: 'rejected', code: 'no_such_job', message, cause, remoteId: id, hint })
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
export function gaveUp(last: ModelgateError, count: number): ModelgateError {
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
  // Of waits that grow by a factor each is the first one, and so much of all that were before.
  const grown = first + (Math.max(0, elapsedMs) / 1000) * (pollSeconds.growth - 1)
  const usualS = Math.min(Math.max(first, pollSeconds.max), grown)
  return Math.max(pollSeconds.min, usualS * (0.9 + random / 5)) * 1000
}
