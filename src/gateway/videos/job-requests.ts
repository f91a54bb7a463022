import {
  lastSegment,
  videoOperationEndpoint,
  videoRemixEndpoint,
  videoStatusEndpoint,
} from '../../contract/videos.ts'
import type { Creation } from '../../cost/creation.ts'
import { GenerationError, ModelgateError } from '../../errors.ts'
import type { JobKind } from '../../events/video.ts'
import { isObject, tryJson, type JsonObject } from '../../json.ts'
import type { Gateway, GatewayRequest } from '../gateway.ts'
import { closeJson } from '../message-reader.ts'
import { requestJson, type Recovered } from '../request-json.ts'
import { absenceWaitsS, Failure, withRetries } from '../retry.ts'
import { jsonRequest, lookUpRequest } from '../send-request.ts'
import { modelSegment, pathSegment, type Roots } from '../url.ts'
import { idsIn, jobObject, type JobReport, operationPath, readJob, type AskedJob } from './read-job.ts'

export interface JobRequest {
  readonly body: unknown
  readonly creation?: Creation
  /** One for all attempts. */
  readonly idempotencyKey: string
}

/**
 * Sends a request that starts a job, and reads which one: for an operation a relay may create a Video instead.
 * @throws ModelgateError; where a job may exist under an unknown id (exit 7), the message says so, and the hint contains the
 *   idempotency key (fault F9)
 */
export async function startJob(gateway: Gateway, request: GatewayRequest, kind: JobKind): Promise<JobReport> {
  try {
    return await requestJob(gateway, request, { kind })
  } catch (error) {
    throw warnOfLostJob(error, request.idempotencyKey, 'job')
  }
}

/** After some errors a job may exist: they say so, with the key to look for it. */
export function warnOfLostJob(error: unknown, key: string | undefined, noun: 'job' | 'response'): unknown {
  if (!(error instanceof ModelgateError) || error.facts.billed !== 'maybe' || error.exit === 'failed')
    return error
  const keyLine = key === undefined ? undefined : `The idempotency key of the request is ${key}.`
  const hint = [error.facts.hint, keyLine].filter((line) => line !== undefined).join(' ')
  return error.amend({ message: `${error.message} A ${noun} may exist.`, hint })
}

/** Endpoint 7. @throws UsageError for a model that cannot stand in a path */
export function operationRequest(gateway: Roots, model: string, request: JobRequest): GatewayRequest {
  const path = videoOperationEndpoint.path.replace('{model}', modelSegment(model))
  return jsonRequest(gateway, path, { kind: 'create', ...request })
}

/** Endpoint 3. @throws UsageError for an id that cannot stand in a path */
export function remixRequest(gateway: Roots, videoId: string, request: JobRequest): GatewayRequest {
  const segment = pathSegment(videoId, 'the id of a video')
  const path = videoRemixEndpoint.path.replace('{video_id}', segment)
  return jsonRequest(gateway, path, { kind: 'create', ...request })
}

/** An operation may hold its videos as base64. */
const maxJobReplyBytes = 256 * 1024 ** 2

/** A job that is paid for must not lose its id: of a cut reply to a new one, the beginning is read. */
async function requestJob(gateway: Gateway, request: GatewayRequest, asked: AskedJob): Promise<JobReport> {
  const isNew = request.kind === 'create'
  return await requestJson(gateway, request, {
    maxLength: maxJobReplyBytes,
    recover: isNew ? readBeginning : undefined,
    convert(reply) {
      const value = isNew ? withWholeIds(reply.value, reply.text) : reply.value
      return { ...readJob(value, asked, { ...reply, now: gateway.clock.now() }), isCut: reply.isCut }
    },
  })
}

export function jobInBeginning(
  beginning: string,
  asked: JobKind,
): { readonly id: string; readonly kind: JobKind } | undefined {
  const found = readBeginning(beginning)
  if (found === undefined) return undefined
  try {
    const reply = { headers: {}, requestId: null, status: 200, now: 0 }
    const { id, kind } = readJob(found.value, { kind: asked }, reply)
    return { id, kind }
  } catch (error) {
    if (error instanceof ModelgateError) return undefined
    throw error
  }
}

function readBeginning(beginning: string): Recovered | undefined {
  const found = beginningObject(beginning)
  if (found === undefined) return undefined
  const value = withWholeIds(found.value, found.text)
  return isObject(value) && idsIn(jobObject(value)).length > 0 ? { ...found, value } : undefined
}

/** The object that a text begins with, closed after what has come of it. */
export function beginningObject(beginning: string): (Recovered & { readonly value: JsonObject }) | undefined {
  const start = beginning.indexOf('{')
  const text = start === -1 ? '' : closeJson(beginning.slice(start))
  const value = tryJson(text)
  return isObject(value) ? { value, text, isCut: !beginning.includes(text) } : undefined
}

/** Ids that are too large for a JavaScript number become texts. */
function withWholeIds(value: unknown, text: string): unknown {
  if (!/\d{16}/.test(text)) return value
  const keep = (field: string, found: unknown, { source }: { readonly source?: string }) =>
    Number.isInteger(found) && !Number.isSafeInteger(found) && /(^|_)id$|Id$/.test(field) ? source : found
  return JSON.parse(text, keep as (field: string, found: unknown) => unknown)
}

/** Without an answer, or progress in it, a look-up fails: the answer is short, and another look-up will follow. */
const lookUpSeconds = 60

export interface Job {
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
  const { firstByte, idle, progress } = gateway.limits
  // A reply that trickles in must not hold up the next look-ups.
  const atMost = (ms = Infinity) => Math.min(ms, lookUpSeconds * 1000)
  const own = { firstByte: atMost(firstByte), idle: atMost(idle), progress: atMost(progress) }
  try {
    return await ask({ ...gateway, limits: { ...gateway.limits, ...own } })
  } catch (error) {
    if (!(error instanceof ModelgateError)) throw error
    // An error instead of the job says nothing about the job; nor does a reply that was cut or stalled.
    if (error instanceof GenerationError || error.exit === 'unknown')
      throw error.amend({ exit: 'later', billed: 'no', hint: 'Run it again later.' })
    throw error.facts.billed === 'maybe' ? error.amend({ billed: 'no' }) : error
  }
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
