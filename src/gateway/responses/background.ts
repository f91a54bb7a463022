import { isFinal } from '../../contract/videos.ts'
import { type ResponseState, responseStateOf } from '../../contract/response-object.ts'
import { responsePath } from '../../contract/responses.ts'
import { ContractError, ModelgateError } from '../../errors.ts'
import { countOf, isObject, numberOf, objectOf, stringOf, type JsonObject } from '../../json.ts'
import type { Gateway, GatewayRequest } from '../gateway.ts'
import { replyError } from '../gateway-errors.ts'
import { requestJson, type JsonReply, type Recovered, type Recovery } from '../request-json.ts'
import { maxWaitS, pauseBeforeRetry, waitBefore } from '../retry.ts'
import { lookUpRequest, sendRequest } from '../send-request.ts'
import { readTextReply, truncatedError, type TextDecoder, type TextReceiver } from '../stream-text.ts'
import { pathSegment, type Roots } from '../url.ts'
import { asLookUp, beginningObject, isMissing, noSuchJob, warnOfLostJob } from '../videos/job-requests.ts'
import { mayPass, waitForEnd, type PolledJob, type WaitOptions } from '../videos/wait-for-job.ts'

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

/** In a row, without a new event. */
const maxResumptions = 5

export interface StreamPlace {
  /** Undefined until the gateway has named it. */
  id: string | undefined
  /** The number of the last event; -1 before the first. */
  after: number
}

export interface ResponseReceiver extends TextReceiver {
  /** Called once, before anything else of the response. */
  onId(id: string): Promise<void> | void
  onReport(report: ResponseReport): void
}

/** Where the gateway does not stream. */
export type FollowOptions = Pick<
  WaitOptions<ResponseReport>,
  'firstWaitS' | 'deadlineMs' | 'onReport' | 'onFailedLookUp'
> & {
  /** The stream begins in the middle, so that the whole answer is no substitute for it. */
  readonly isRest: boolean
}

/**
 * Streams a background response until it ends. A stream that breaks is resumed after the last event, which costs nothing; from a
 * gateway that cannot do that, what is missing is fetched when the response has ended. No event is passed on twice.
 * @param first the request that creates the response, or one for its stream
 * @param place kept up to date
 * @throws ModelgateError `running` (11) when the stream cannot continue; else what `streamText` throws
 */
export async function followResponse(
  gateway: Gateway,
  first: GatewayRequest,
  place: StreamPlace,
  decoder: TextDecoder,
  receiver: ResponseReceiver,
  options: FollowOptions,
): Promise<void> {
  const { deadlineMs } = options
  const own: Gateway = {
    ...gateway,
    limits: { ...gateway.limits, total: undefined, deadline: deadlineMs },
  }
  /** The loop repeats it, not the request. */
  const once: Gateway = { ...own, policy: { ...gateway.policy, maxRetries: 0 } }
  /** `earlier` is the number of the last event of earlier replies; `areNumbered`: so that a stream can be resumed. */
  const events = { earlier: -1, hasMoved: false, isDocument: false, areNumbered: true }
  let named: Promise<void> | void
  const passedOn: TextReceiver = {
    ...receiver,
    accepts: (value) => !isObject(value) || accepts(value),
    async flush() {
      await named
      await receiver.flush()
    },
  }
  let request = first
  for (let failures = 0; ;) {
    let failure: unknown
    Object.assign(events, { earlier: place.after, hasMoved: false, isDocument: false })
    try {
      const reply = await sendRequest(request.kind === 'read' ? once : own, request)
      await readTextReply(gateway, reply, decoder, passedOn)
    } catch (error) {
      if (place.id === undefined) throw warnOfLostJob(error, request.idempotencyKey, 'response')
      if (!canGoOn(error, decoder)) throw error
      failure = error
    }
    if (decoder.state === 'settled' || place.id === undefined) return decoder.finish(false)
    const { id } = place
    if (!events.hasMoved || !events.areNumbered) {
      const isRefused = failure instanceof ModelgateError && failure.exit === 'rejected'
      const isStreamed = events.areNumbered && !isRefused && !events.isDocument
      const found = await lookUp(id, isStreamed).catch((error: unknown) => {
        if (!isStreamed || !canGoOn(error, decoder)) throw error
        failure ??= error
      })
      const isOnlyLate = options.isRest && isStreamed && failure !== undefined
      if (found !== undefined && isFinal(found.state) && !isOnlyLate) return await takeWhole(found)
    }
    const reason = failure ?? truncatedError(decoder.result())
    failures = events.hasMoved ? 1 : failures + 1
    if (failures > maxResumptions || isDeadline(reason)) throw brokenOff(id, reason, failures)
    const asked = reason instanceof ModelgateError ? reason.facts.retryAfterS : undefined
    await pauseBeforeRetry(own, own.signal, {
      error: reason,
      attempt: failures,
      attempts_left: maxResumptions + 1 - failures,
      // The response continues meanwhile.
      waitS: waitBefore(failures - 1, asked && Math.min(asked, maxWaitS), own.clock.random()),
    })
    request = responseStream(own, id, place.after)
  }

  /** Passes on each event once, and learns the id of the response and the place in its stream. */
  function accepts(value: JsonObject): boolean {
    const isWhole = value['object'] === 'response'
    const id = stringOf(objectOf(isWhole ? value : value['response'])['id'])
    if (place.id === undefined && id !== undefined) {
      place.id = id
      named = receiver.onId(id)
    }
    if (isWhole) {
      events.isDocument = true
      const status = stringOf(value['status'])
      // One of a running response is no end.
      return status === undefined || isFinal(responseStateOf(status) ?? 'in_progress')
    }
    const number = countOf(value['sequence_number']) ?? -1
    if (number >= 0 && number <= events.earlier) return false
    events.hasMoved = true
    if (number <= place.after) events.areNumbered = false
    place.after = events.areNumbered ? number : -1
    return true
  }

  /** Once, or where there is no stream to resume, as often as it takes. */
  async function lookUp(id: string, isStreamed: boolean): Promise<ResponseReport> {
    const found = isStreamed
      ? await lookUpResponse(once, id)
      : await waitForEnd(gateway, polledResponse(id), options)
    receiver.onReport(found)
    return found
  }

  async function takeWhole({ value, text, state }: ResponseReport): Promise<void> {
    const hasAnswer = state === 'completed' || state === 'incomplete'
    if (options.isRest && hasAnswer) throw notStreamed(place)
    receiver.raw?.(text)
    decoder.message(value)
    await receiver.flush()
    decoder.finish(false)
  }
}

/** Whether the response may still be fetched after this error of a reply; one too large would come again. */
function canGoOn(error: unknown, { state }: TextDecoder): boolean {
  if (!(error instanceof ModelgateError) || state !== 'open' || error.code === 'reply_too_large') return false
  return error.exit === 'rejected' || error.exit === 'contract' || mayPass(error)
}

function isDeadline(error: unknown): boolean {
  return error instanceof ModelgateError && error.code === 'deadline'
}

function brokenOff(id: string, reason: unknown, times: number): ModelgateError {
  const often = times === 1 ? '' : ` ${times} times in a row`
  const last = reason instanceof Error ? reason.message : String(reason)
  const message = isDeadline(reason)
    ? `The response ${id} may still be running; the time limit was reached (--timeout).`
    : `The stream of the response ${id} broke off${often}, and the response may still be running. ${last}`
  const phase = isDeadline(reason) ? 'wait' : 'stream'
  const facts = { phase, billed: 'yes', remoteId: id, cause: reason } as const
  return new ModelgateError('running', 'still_running', message, facts)
}

function notStreamed({ id, after }: StreamPlace): ContractError {
  const message = `The gateway streams no events of the response ${id} after event ${after}.`
  return new ContractError('reply_not_understood', message, {
    billed: 'yes',
    hint: 'Leave out --starting-after to get the whole answer.',
  })
}
