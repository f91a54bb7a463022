import { jsonRequest } from '../send-request.ts'
import { modelSegment, pathSegment, type Roots } from '../url.ts'
import { type JobReport, idsIn, jobObject } from './job-fields.ts'
import { videoOperationEndpoint, videoRemixEndpoint } from '../../contract/videos.ts'
import type { Creation } from '../../cost/creation.ts'
import { ModelgateError } from '../../errors.ts'
import type { JobKind } from '../../events/video.ts'
import { jobReplyBeginningBytes } from '../../files/calls/reply-log.ts'
import { isObject, tryJson, type JsonObject } from '../../json.ts'
import type { Gateway, GatewayRequest } from '../gateway.ts'
import { closeJson } from '../events/json-reader.ts'
import { requestJson, type Recovered } from '../request-json.ts'
import { readJob, type AskedJob } from './read-job.ts'

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
export async function requestJob(
  gateway: Gateway,
  request: GatewayRequest,
  asked: AskedJob,
): Promise<JobReport> {
  const isNew = request.kind === 'create'
  return await requestJson(gateway, request, {
    maxLength: maxJobReplyBytes,
    recover: isNew ? { maxBytes: jobReplyBeginningBytes, read: readBeginning } : undefined,
    convert(reply) {
      const value = isNew ? withWholeIds(reply.value, reply.text) : reply.value
      return { ...readJob(value, asked, { ...reply, now: gateway.clock.now() }), isCut: reply.isCut }
    },
  })
}

/** The job that a whole or cut reply names. */
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
