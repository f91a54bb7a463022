import { type VideoState, lastSegment, videoStateOf } from '../../contract/video-state.ts'
import type { JobKind } from '../../events/video.ts'

import { ContractError, UsageError } from '../../errors.ts'
import type { GatewayReply } from '../gateway.ts'
import { isObject, objectOf, stringOf, type JsonObject } from '../../json.ts'
import { readErrorValue } from '../error-body.ts'
import { replyError } from '../gateway-errors.ts'
import { maxWaitS, waitHint } from '../retry.ts'
import { pathSegment } from '../url.ts'
import {
  factsIn,
  failureIn,
  filteredIn,
  filteredSentence,
  hasError,
  type JobFailure,
  idOf,
  idsIn,
  isDone,
  jobObject,
  videoIdIn,
  wordIn,
  type JobReport,
} from './job-fields.ts'
import { countVideos } from './fetch-video.ts'

/** A known job by its id, or a new one. */
export interface AskedJob {
  readonly kind: JobKind
  readonly id?: string | undefined
}

type ReplyFacts = Pick<GatewayReply, 'headers' | 'requestId' | 'status'> & {
  readonly text?: string | undefined
  /** Milliseconds, for a `Retry-After` date. */
  readonly now: number
}

/**
 * Reads a job in any of the shapes that gateways were seen to send (wire notes, sections 3, 5 and 7, and quirks 18 to 23).
 * @throws GenerationError for an error object; ContractError for a reply without a job, for another job than the one asked for
 *   (fault F7), and for an operation whose name is not a path (fault F10)
 */
export function readJob(value: unknown, asked: AskedJob, reply: ReplyFacts): JobReport {
  if (!isObject(value)) throw notUnderstood()
  const job = jobObject(value)
  const { id, kind } = identify(value, job, asked)
  const verdict = judge(job, asked, reply.status)
  const facts = factsIn(job)
  return {
    id,
    kind,
    ...verdict,
    ...facts,
    model: facts.model ?? (kind === 'operation' ? modelInName(id) : null),
    text: reply.text,
    value,
    requestId: reply.requestId,
    nextLookUpMs: nextLookUp(reply),
  }
}

function identify(value: JsonObject, job: JsonObject, asked: AskedJob): Pick<JobReport, 'id' | 'kind'> {
  const ids = idsIn(job)
  if (asked.id !== undefined) {
    const isAsked = ids.some((id) => isSameJob(asked.kind, asked.id!, id))
    // A relay's own task number may differ from the id that it was asked for by.
    const own = idOf(job['id']) ?? idOf(job['name'])
    if (!isAsked && own !== undefined) throw otherJob(asked.id, own)
    if (ids.length === 0) requireJob(value, job)
    return { id: asked.id, kind: asked.kind }
  }
  const name = stringOf(job['name'])
  const id = videoIdIn(job)
  const isVideo = id !== undefined && (asked.kind === 'video' || job['object'] === 'video')
  if (name !== undefined && name.trim() !== '' && !isVideo) {
    checkSent('operation name', () => operationPath(name))
    return { id: name, kind: 'operation' }
  }
  if (id !== undefined) return newVideo(id)
  const bare = saysSuccess(value) ? idOf(value['data']) : undefined
  if (bare !== undefined) return newVideo(bare)
  requireJob(value, job)
  // Some send only this (recorded from a third party's video service).
  const requestId = idOf(job['request_id'])
  if (requestId !== undefined) return newVideo(requestId)
  throw new ContractError('reply_not_understood', 'The reply contains no job id.', {
    hint: 'A job may have been created all the same. Check your usage before you run it again.',
  })
}

function newVideo(id: string): Pick<JobReport, 'id' | 'kind'> {
  checkSent('video id', () => pathSegment(id, 'the id of a video'))
  return { id, kind: 'video' }
}

/** @throws ContractError for what the gateway sent and cannot be asked for: the job is paid for all the same */
function checkSent(what: string, check: () => unknown): void {
  try {
    check()
  } catch (cause) {
    if (!(cause instanceof UsageError)) throw cause
    const message = `The gateway sent an invalid ${what}: ${cause.message}`
    throw new ContractError('reply_not_understood', message, { cause })
  }
}

/** An object without an id may be an error, or no job at all. @throws GenerationError, ContractError */
function requireJob(value: JsonObject, job: JsonObject): void {
  if (wordIn(job) !== undefined || 'done' in job || countVideos(job)) return
  const hasCode = idOf(value['code']) !== undefined && !saysSuccess(value)
  if (hasError(value) || (hasCode && readErrorValue(value).message !== undefined)) throw replyError(value)
  if (idOf(job['request_id']) === undefined) throw notUnderstood()
}

/** Relays write a code into every reply, even a successful one (wire notes, "Envelopes"). */
function saysSuccess({ code }: JsonObject): boolean {
  return /^(0|200|ok|success)$/i.test(idOf(code) ?? '')
}

type Verdict = Pick<JobReport, 'state' | 'status' | 'failure' | 'note'>

function judge(job: JsonObject, asked: AskedJob, httpStatus: number): Verdict {
  const word = wordIn(job)
  const status = word ?? null
  const base = { status, failure: undefined, note: undefined }
  const failed = (failure: JobFailure): Verdict => ({ ...base, state: 'failed', failure })
  const state = stateOf(job, asked, httpStatus, word)
  if (state === 'failed') return failed(failureIn(job, status))
  if (state !== 'completed') return { ...base, state }
  const { response } = job
  if (!isObject(response) || !isOperation(job)) return { ...base, state }
  const filtered = filteredIn(response)
  const kept = countVideos(response)
  if (!kept && filtered.count > 0) {
    return failed({ code: 'content_refused', message: filteredSentence(filtered, 0) })
  }
  if (!kept && isObject(response['generateVideoResponse'])) {
    const message = 'Nothing was generated; the gateway gives no reason.'
    return failed({ code: 'nothing_generated', message })
  }
  return { ...base, state, note: filtered.count > 0 ? filteredSentence(filtered, kept) : undefined }
}

function stateOf(job: JsonObject, asked: AskedJob, httpStatus: number, word: string | undefined): VideoState {
  const known = word === undefined ? undefined : videoStateOf(word)
  if (isDone(job)) {
    // One that is done has succeeded, unless its own word says otherwise.
    return (hasError(job) && !isSuccess(job)) || known === 'failed' ? 'failed' : 'completed'
  }
  if (known !== undefined) return known
  const waiting: VideoState = asked.id === undefined ? 'pending' : 'in_progress'
  if (word !== undefined) return 'in_progress'
  if (hasError(job)) return 'failed'
  if (!('done' in job) && countVideos(objectOf(job['response'])) > 0) return 'completed'
  if (httpStatus === 202 || isOperation(job) || !countVideos(job)) return waiting
  return 'completed'
}

/** An error with the code for success (google.rpc.Code 0) beside videos. */
function isSuccess({ error, response }: JsonObject): boolean {
  return objectOf(error)['code'] === 0 && countVideos(objectOf(response)) > 0
}

function isOperation(job: JsonObject): boolean {
  return 'done' in job || stringOf(job['name']) !== undefined
}

/** `openai-poll-after-ms` is what the official SDK uses (wire notes, section 3). Zero means nothing. */
function nextLookUp({ headers, now }: ReplyFacts): number | undefined {
  const pollAfter: string | undefined = headers['openai-poll-after-ms']
  const asked = pollAfter === undefined ? {} : { 'retry-after-ms': pollAfter }
  const seconds = waitHint(asked, undefined, now) ?? waitHint(headers, undefined, now)
  return seconds === undefined || seconds <= 0 ? undefined : Math.min(seconds, maxWaitS) * 1000
}

function notUnderstood(): ContractError {
  return new ContractError('reply_not_understood', 'The reply is neither a video nor an operation.')
}

function otherJob(asked: string, found: string): ContractError {
  const [one, other] = [asked, found].map((id) => JSON.stringify(id.slice(0, 200)))
  const message = `The gateway was asked for the job ${one} and answered for ${other}.`
  return new ContractError('other_job', message, { remoteId: asked })
}

/**
 * Fault F7. An operation has several names: relays put another collection before its last segment, or make a video id of the
 * whole name, in base64 (quirk 21).
 */
function isSameJob(kind: JobKind, asked: string, found: string): boolean {
  if (found === asked || decoded(found) === asked) return true
  if (kind === 'video') return false
  const last = lastSegment(asked)
  if (lastSegment(found) === last || lastSegment(decoded(found)) === last) return true
  const name = Buffer.from(found.replace(/^(video|task)_/, ''), 'base64url').toString()
  return name.split(/[/:;,]/).includes(last)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Below `/v1beta`, each segment checked and encoded: the name is never used as a URL (fault F10). @throws UsageError */
export function operationPath(name: string): string {
  const segments = name.split('/')
  const isAddress = /[\\?#]|:\/\//.test(name) || (segments.length > 1 && isHost(segments[0]!))
  if (isAddress || segments.includes('')) {
    throw new UsageError(`${JSON.stringify(name.slice(0, 200))} is not the name of an operation.`, {
      code: 'invalid_request',
    })
  }
  return `/v1beta/${segments.map((segment) => pathSegment(segment, 'a part of the name of an operation')).join('/')}`
}

/** `models/<model>/operations/<id>`. */
export function modelInName(name: string): string | null {
  return /(?:^|\/)models\/([^/]+)\//.exec(name)?.[1] ?? null
}

/** A host, perhaps with a port or a user name, is no collection of resources. */
function isHost(segment: string): boolean {
  return /[:@.[\]]/.test(segment)
}
