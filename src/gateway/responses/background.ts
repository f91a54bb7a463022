import { isFinal } from '../../contract/video-state.ts'
import { type ResponseState, responseStateOf } from '../../contract/response-object.ts'
import { responsePath } from '../../contract/responses.ts'
import { ContractError, ModelgateError } from '../../errors.ts'
import { isObject, numberOf, objectOf, stringOf, type JsonObject } from '../../json.ts'
import type { Gateway, GatewayRequest } from '../gateway.ts'
import { replyError } from '../gateway-errors.ts'
import { requestJson, type JsonReply, type Recovered, type Recovery } from '../request-json.ts'
import { lookUpRequest } from '../send-request.ts'
import { pathSegment, type Roots } from '../url.ts'
import { asLookUp, beginningObject, isMissing, noSuchJob, warnOfLostJob } from '../videos/job-requests.ts'
import type { PolledJob } from '../videos/wait-for-job.ts'

export interface ResponseReport {
  readonly id: string
  /** An unknown state means a running response (fault F2). */
  readonly state: ResponseState
  readonly status: string | null
  /** Unix seconds. */
  readonly completedAt: number | null
  /** What the specification has of a job, and not of a response. */
  readonly progress: null
  readonly expiresAt: null
  readonly failure: undefined
  readonly value: JsonObject
  readonly text: string
  readonly requestId: string | null
  readonly isCut: boolean
}

/**
 * Sends a request for a background response, and reads which one: of a cut reply the beginning, so that the id is not lost.
 * @throws ModelgateError; where a response may exist under an unknown id, the message says so (fault F9)
 */
export async function createBackground(gateway: Gateway, request: GatewayRequest): Promise<ResponseReport> {
  try {
    return await requestReport(gateway, request, undefined, readBeginning)
  } catch (error) {
    throw warnOfLostJob(error, request.idempotencyKey, 'response')
  }
}

/** @throws ModelgateError 4 for an unknown one, 3 for the key, 5 for what may pass, 8 for no response; UsageError */
export async function lookUpResponse(gateway: Gateway, id: string): Promise<ResponseReport> {
  const request = responseLookUp(gateway, id)
  return await asLookUp(gateway, (own) => requestReport(own, request, id)).catch((error: unknown) => {
    throw isMissing(error) ? noSuchJob(error, id, 'response') : error
  })
}

export function polledResponse(id: string): PolledJob<ResponseReport> {
  return { id, noun: 'response', lookUp: (gateway) => lookUpResponse(gateway, id) }
}

export function responseLookUp(gateway: Roots, id: string): GatewayRequest {
  return lookUpRequest(gateway, pathOf(id))
}

/** @param after begin after the event with this number; -1 for the whole stream. @throws UsageError */
export function responseStream(gateway: Roots, id: string, after: number): GatewayRequest {
  const place: Record<string, string> = after < 0 ? {} : { starting_after: String(after) }
  const request = lookUpRequest(gateway, pathOf(id), { stream: 'true', ...place })
  return { ...request, accept: 'text/event-stream' }
}

export function responseCancellation(gateway: Roots, id: string): GatewayRequest {
  // Cancelling twice is the same as once, and costs nothing.
  return { ...lookUpRequest(gateway, `${pathOf(id)}/cancel`), method: 'POST' }
}

/** One that has ended stays as it is: a gateway that refuses then is asked for its state. @throws as `lookUpResponse` */
export async function cancelResponse(gateway: Gateway, id: string): Promise<ResponseReport> {
  const request = responseCancellation(gateway, id)
  try {
    return await asLookUp(gateway, (own) => requestReport(own, request, id))
  } catch (error) {
    if (!(error instanceof ModelgateError) || error.exit !== 'rejected') throw error
    const found = await lookUpResponse(gateway, id)
    if (isFinal(found.state)) return found
    throw error
  }
}

/** The response that the beginning of a document or a stream names. */
export function responseInBeginning(
  beginning: string,
): { readonly id: string; readonly kind: 'response' } | undefined {
  const id = stringOf(objectOf(readBeginning(beginning)?.value)['id'])
  return id === undefined ? undefined : { id, kind: 'response' }
}

function pathOf(id: string): string {
  return responsePath.replace('{response_id}', pathSegment(id, 'the id of a response'))
}

async function requestReport(
  gateway: Gateway,
  request: GatewayRequest,
  asked: string | undefined,
  recover?: Recovery,
): Promise<ResponseReport> {
  return await requestJson(gateway, request, { recover, convert: (reply) => readReport(reply, asked) })
}

function readReport({ value, text, requestId, isCut }: JsonReply, asked: string | undefined): ResponseReport {
  if (!isObject(value)) throw notAResponse()
  if (value['error'] && value['object'] !== 'response' && value['id'] === undefined) throw replyError(value)
  // Relays may give a response another id with each reply (quirk 13): the one that was asked for works.
  const id = asked ?? stringOf(value['id'])
  const status = stringOf(value['status']) ?? null
  if (id === undefined || (status === null && !Array.isArray(value['output']))) throw notAResponse()
  const state = status === null ? 'completed' : (responseStateOf(status) ?? 'in_progress')
  const completedAt = numberOf(value['completed_at'])
  const unspecified = { progress: null, expiresAt: null, failure: undefined }
  return { id, state, status, completedAt, ...unspecified, value, text, requestId, isCut }
}

function notAResponse(): ContractError {
  return new ContractError('reply_not_understood', 'The reply is not a response.', {
    hint: 'See it with --raw.',
  })
}

/** Of a reply, or of its first event. Only its id can be relied on: of everything else the end may be missing. */
function readBeginning(beginning: string): Recovered | undefined {
  const found = beginningObject(beginning)
  const { id } = isObject(found?.value['response']) ? found.value['response'] : objectOf(found?.value)
  if (found === undefined || typeof id !== 'string') return undefined
  return { text: found.text, value: { id, object: 'response', status: 'queued' }, isCut: true }
}
