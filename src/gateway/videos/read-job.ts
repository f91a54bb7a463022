import { lastSegment, videoStateOf, type VideoState } from '../../contract/videos.ts'
import { ContractError, UsageError } from '../../errors.ts'
import type { JobKind } from '../../events/video.ts'
import { isObject, listOf, numberOf, objectOf, stringOf, type JsonObject } from '../../json.ts'
import { readErrorValue } from '../reply-errors.ts'
import type { GatewayReply } from '../gateway.ts'
import { replyError } from '../gateway-errors.ts'
import { maxWaitS, waitHint } from '../retry.ts'
import { pathSegment } from '../url.ts'
import { bothCases, countVideos } from './video-sources.ts'

export interface JobReport {
  /** The id of a video, or the name of an operation. */
  readonly id: string
  readonly kind: JobKind
  /** An unknown word means `in_progress` (fault F2). */
  readonly state: VideoState
  /** The gateway's own name for the state; null if the state is derived from other fields. */
  readonly status: string | null
  /** 0 to 100. */
  readonly progress: number | null
  readonly model: string | null
  /** Unix seconds. */
  readonly createdAt: number | null
  readonly completedAt: number | null
  readonly expiresAt: number | null
  readonly failure: JobFailure | undefined
  readonly note: string | undefined
  /** Only the beginning of the object is known. */
  readonly isCut?: boolean
  readonly text?: string | undefined
  /** The gateway's own object, untouched. */
  readonly value: JsonObject
  readonly requestId: string | null
  /** The wait until then that the gateway asks for, as far as it is obeyed. */
  readonly nextLookUpMs: number | undefined
}

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
    hint: 'A job may have been created anyway. Check your usage before you run it again.',
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
  const status = wordIn(job) ?? null
  const state = stateOf(job, asked, httpStatus, status ?? undefined)
  const verdict = (failure: JobFailure | undefined, note?: string): Verdict => ({
    state: failure === undefined ? state : 'failed',
    status,
    failure,
    note,
  })
  if (state === 'failed') return verdict(failureIn(job, status))
  const { response } = job
  if (state !== 'completed' || !isObject(response) || !isOperation(job)) return verdict(undefined)
  const filtered = filteredIn(response)
  const kept = countVideos(response)
  if (filtered.count > 0) {
    if (kept > 0) return verdict(undefined, filtered.sentence(kept))
    return verdict({ code: 'content_refused', message: filtered.sentence(0) })
  }
  if (kept > 0 || !isObject(response['generateVideoResponse'])) return verdict(undefined)
  return verdict({
    code: 'nothing_generated',
    message: 'Nothing was generated; the gateway gives no reason.',
  })
}

function stateOf(job: JsonObject, asked: AskedJob, httpStatus: number, word: string | undefined): VideoState {
  const known = word === undefined ? undefined : videoStateOf(word)
  if (isDone(job)) {
    // One that is done has succeeded, unless its own word says otherwise.
    return (hasError(job) && !isSuccess(job)) || known === 'failed' ? 'failed' : 'completed'
  }
  if (word !== undefined) return known ?? 'in_progress'
  if (hasError(job)) return 'failed'
  if (!('done' in job) && countVideos(objectOf(job['response'])) > 0) return 'completed'
  const isWaiting = httpStatus === 202 || isOperation(job) || !countVideos(job)
  if (!isWaiting) return 'completed'
  return asked.id === undefined ? 'pending' : 'in_progress'
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

/** Where gateways put the facts of a job, the usual place first; relays write each name in camel case, too. */
const places = {
  id: 'id task_id video_id job_id',
  word: 'status state task_status metadata.state metadata.status',
  progress: 'progress progress_percent metadata.progress metadata.progress_percent',
  createdAt: 'created_at created submit_time metadata.create_time',
  completedAt: 'completed_at finish_time',
  expiresAt: 'expires_at',
  model: 'model',
  // Quirk 23.
  reason: 'error fail_reason failure_reason error_message task_status_msg last_error message',
} as const

function valuesOf<Value>(
  job: JsonObject,
  field: keyof typeof places,
  read: (value: unknown) => Value | undefined,
): Value[] {
  const values = places[field].split(' ').flatMap((place) => {
    const [name, holder] = place.split('.').toReversed() as [string, string?]
    const object = holder === undefined ? job : objectOf(job[holder])
    return bothCases(name).map((one) => read(object[one]))
  })
  return values.filter((value) => value !== undefined)
}

function factsIn(job: JsonObject) {
  const timeIn = (field: 'createdAt' | 'completedAt' | 'expiresAt') => valuesOf(job, field, timeOf)[0] ?? null
  return {
    progress: valuesOf(job, 'progress', percentOf)[0] ?? null,
    model: valuesOf(job, 'model', idOf)[0] ?? null,
    createdAt: timeIn('createdAt'),
    completedAt: timeIn('completedAt'),
    expiresAt: timeIn('expiresAt'),
  }
}

const wrapperNames = ['data', 'output', 'result'] as const

/** The reply itself, or what a relay has wrapped, even as a list of one. A reply with an id of its own is no wrapper. */
export function jobObject(reply: JsonObject): JsonObject {
  if (idsIn(reply).length > 0 || reply['object'] === 'video') return reply
  const inner = reply['data']
  if (isObject(inner) && (idsIn(inner).length > 0 || hasState(inner))) return inner
  if (hasState(reply)) return reply
  const wrapped = wrapperNames.map((name) => onlyOne(reply[name]))
  return wrapped.find((value) => value !== undefined && idsIn(value).length > 0) ?? reply
}

function onlyOne(value: unknown): JsonObject | undefined {
  const list = Array.isArray(value) ? (value as unknown[]) : [value]
  return list.length === 1 && isObject(list[0]) ? list[0] : undefined
}

function hasState(job: JsonObject): boolean {
  return wordIn(job) !== undefined || 'done' in job
}

/** In order of preference. */
export function idsIn(job: JsonObject): string[] {
  const name = idOf(job['name'])
  return [...(name === undefined ? [] : [name]), ...valuesOf(job, 'id', idOf)]
}

/** Never the name of an operation. */
export function videoIdIn(job: JsonObject): string | undefined {
  return valuesOf(job, 'id', idOf)[0]
}

function idOf(value: unknown): string | undefined {
  return Number.isSafeInteger(value) ? String(value) : wordOf(value)
}

function wordOf(value: unknown): string | undefined {
  const word = stringOf(value)
  return word === undefined || word.trim() === '' ? undefined : word
}

function wordIn(job: JsonObject): string | undefined {
  return valuesOf(job, 'word', wordOf)[0]
}

/** Whether an operation is done; relays write booleans as words and numbers. */
function isDone({ done }: JsonObject): boolean {
  return done === true || done === 1 || /^\s*(true|1)\s*$/i.test(stringOf(done) ?? '')
}

/** A whole percentage, with or without a sign. */
function percentOf(value: unknown): number | undefined {
  const text = stringOf(value)?.trim().replace(/\s*%$/, '')
  const progress = text === undefined || text === '' ? value : Number(text)
  if (typeof progress !== 'number' || Number.isNaN(progress)) return undefined
  return Math.floor(Math.min(100, Math.max(0, progress)))
}

/** A larger time is not in seconds but in milliseconds, or finer still (quirk 20). */
const maxSeconds = 1e11

/** A time as Unix seconds, from a number, its text, or a date; relays write zero for "not yet". */
function timeOf(value: unknown): number | undefined {
  const text = stringOf(value)?.trim()
  const isDate = text !== undefined && /^\d{4}-\d{2}-\d{2}T/.test(text)
  const isNumber = text !== undefined && /^\d+(\.\d+)?$/.test(text)
  let time = isDate ? Date.parse(text) / 1000 : isNumber ? Number(text) : value
  if (typeof time !== 'number' || !Number.isFinite(time) || time <= 0) return undefined
  while (time >= maxSeconds) time /= 1000
  return Math.floor(time)
}

export interface JobFailure {
  readonly code: string | null
  readonly message: string
}

/** google.rpc.Status, by number (google/rpc/code.proto). */
const rpcCodes = [
  'OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS',
  'UNAUTHENTICATED',
].flatMap((names) => names.split(' '))

/** Whether the object reports an error: one that is empty, or has only empty fields, says nothing. */
function hasError(job: JsonObject): boolean {
  const error = firstOf(job['error'])
  if (isObject(error)) return Object.values(error).some(saysSomething)
  return (typeof error === 'string' && error.trim() !== '') || error === true
}

function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? (value as unknown[])[0] : value
}

function saysSomething(value: unknown): boolean {
  return typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value)
}

/** Where the gateway gives no reason, the message says so (fault F3). @param word its own word for the state */
function failureIn(job: JsonObject, word: string | null): JobFailure {
  const given = valuesOf(job, 'reason', reasonOf)
  const message = given.find((reason) => reason.message !== undefined)?.message
  const code = given.find((reason) => reason.code !== undefined)?.code ?? null
  // Some words say no more than that it has failed.
  const said = code ?? (/^fail(ed|ure)?$|^error$/i.test(word ?? '') ? null : word)
  return { code, message: message ?? (said === null ? 'no reason given' : `no reason given (${said})`) }
}

/** Videos that were generated and withheld, of a whole reply (wire notes, section 7). */
export function filteredOf(reply: JsonObject) {
  return filteredIn(objectOf(jobObject(reply)['response']))
}

function filteredIn(response: JsonObject) {
  const holder = objectOf(response['generateVideoResponse'] ?? response)
  const given = holder['raiMediaFilteredCount']
  const reasons = listOf(holder['raiMediaFilteredReasons']).filter((reason) => typeof reason === 'string')
  const count = Math.max(0, numberOf(given) ?? (Number(stringOf(given)) || 0), reasons.length)
  /** A reason that several share is given once. */
  const sentence = (kept: number) => {
    const some = `${count} of ${count + kept} videos ${count === 1 ? 'was' : 'were'}`
    const why = [...new Set(reasons)].join(' ')
    const end = why === '' ? '. The gateway does not say why.' : `: ${why}`
    return `${kept === 0 ? 'Every video was' : some} withheld by the gateway's filters${end}`
  }
  return { count, reasons, sentence }
}

function reasonOf(
  found: unknown,
): { readonly code?: string | undefined; readonly message?: string | undefined } | undefined {
  const value = firstOf(found)
  if (typeof value === 'string' && value.trim() !== '') return { message: value.trim().slice(0, 4096) }
  if (!isObject(value)) return undefined
  const { code, message } = readErrorValue(value)
  return { code: rpcCodes[Number(code)] ?? code, message }
}
