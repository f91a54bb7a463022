import type { JobKind } from '../../events/video.ts'
import { ModelgateError } from '../../errors.ts'
import type { Gateway, GatewayRequest } from '../gateway.ts'
import { jsonBody } from '../send-request.ts'
import { endpointUrl, modelSegment, pathSegment } from '../url.ts'
import { requestJob } from './job-reply.ts'
import type { JobReport } from './job-fields.ts'
import { videoOperationEndpoint, videoRemixEndpoint } from '../../contract/videos.ts'

/** What a request for a job needs to be sent. */
export interface JobRequest {
  readonly body: unknown
  /** Minted once per command. */
  readonly idempotencyKey: string
}

/** A request that starts a job. */
function jobRequest(
  { baseUrl }: Pick<Gateway, 'baseUrl'>,
  path: string,
  { body, idempotencyKey }: JobRequest,
): GatewayRequest {
  return {
    method: 'POST',
    url: endpointUrl(baseUrl, path),
    kind: 'create',
    contentType: 'application/json',
    accept: 'application/json',
    body: jsonBody(body),
    idempotencyKey,
  }
}

/**
 * Sends a request that starts a job, and reads which one. What may have been billed is not sent again.
 * @throws ModelgateError; where a job may exist under an unknown id, the message says so, and the hint contains the
 *   idempotency key (fault F9)
 */
async function startJob(gateway: Gateway, request: GatewayRequest, kind: JobKind): Promise<JobReport> {
  try {
    return await requestJob(gateway, request, { kind })
  } catch (error) {
    throw warnOfLostJob(error, request.idempotencyKey)
  }
}

function warnOfLostJob(error: unknown, key: string | undefined): unknown {
  if (!(error instanceof ModelgateError) || error.facts.billed !== 'maybe' || error.exit === 'failed')
    return error
  const keyLine = key === undefined ? undefined : `The idempotency key of the request is ${key}.`
  const hint = [error.facts.hint, keyLine].filter((line) => line !== undefined).join(' ')
  return error.amend({ message: `${error.message} A job may exist.`, hint })
}

/**
 * The request for a long-running operation (endpoint 7).
 * @throws UsageError for a model that cannot stand in a path
 */
export function operationRequest(
  gateway: Pick<Gateway, 'baseUrl'>,
  model: string,
  request: JobRequest,
): GatewayRequest {
  return jobRequest(gateway, videoOperationEndpoint.path.replace('{model}', modelSegment(model)), request)
}

/**
 * Starts a long-running operation. Most gateways answer with its name and nothing else; a relay may create a Video
 * instead.
 * @throws ModelgateError; exit 7 where a job may exist (fault F9)
 */
export function createOperation(gateway: Gateway, request: GatewayRequest): Promise<JobReport> {
  return startJob(gateway, request, 'operation')
}

/**
 * The request for a remix of a video (endpoint 3).
 * @throws UsageError for an id that cannot stand in a path
 */
export function remixRequest(
  gateway: Pick<Gateway, 'baseUrl'>,
  videoId: string,
  request: JobRequest,
): GatewayRequest {
  const segment = pathSegment(videoId, 'the id of a video')
  return jobRequest(gateway, videoRemixEndpoint.path.replace('{video_id}', segment), request)
}

/**
 * Starts a remix.
 * @throws ModelgateError; exit 7 where a job may exist (fault F9)
 */
export function remixVideo(gateway: Gateway, request: GatewayRequest): Promise<JobReport> {
  return startJob(gateway, request, 'video')
}
