import { type VideoState, videoStateOf } from '../../contract/video-state.ts'
import type { JobKind } from '../../events/video.ts'

import { type JsonObject, isObject, objectOf, stringOf, listOf, numberOf } from '../../json.ts'

import { readErrorValue } from '../error-body.ts'

/** The facts about a job in a reply. */
export interface JobReport {
  /** The id of a video, or the name of an operation. */
  readonly id: string
  readonly kind: JobKind
  readonly state: VideoState
  /** The gateway's own name for the state; null if the state is derived from other fields. */
  readonly status: string | null
  /** False for an unknown word, which is treated as a running job (fault F2). */
  readonly isKnown: boolean
  /** 0 to 100, for display; null when the gateway does not say. */
  readonly progress: number | null
  readonly model: string | null
  /** Unix seconds; null when the gateway does not say. */
  readonly createdAt: number | null
  readonly completedAt: number | null
  readonly expiresAt: number | null
  /** Of a job that has failed. */
  readonly failure: JobFailure | undefined
  /** A further note for the user, as a sentence. */
  readonly note: string | undefined
  /** Whether the reply was cut inside the object, of which only the beginning is known. */
  readonly isCut?: boolean
  /** The text of the reply, where it is known. */
  readonly text?: string | undefined
  /** The gateway's own object, untouched. */
  readonly value: JsonObject
  readonly requestId: string | null
  /** How long the gateway asks to wait until the next look-up, in milliseconds, at most the longest wait of the program. */
  readonly nextLookUpMs: number | undefined
}

/** The names that gateways use for the fields of a job, the usual one first. */
const idNames = ['id', 'task_id', 'video_id', 'taskId', 'videoId', 'job_id', 'jobId'] as const
const statusNames = ['status', 'state', 'task_status'] as const
const progressNames = ['progress', 'progress_percent', 'progressPercent'] as const

/** Fields that relays wrap a job in, `data` most often. */
const wrapperNames = ['data', 'output', 'result'] as const

/** A larger time is not in seconds but in milliseconds, or finer still (quirk 20). */
const maxSeconds = 1e11

/**
 * The object of a reply that is the job: the reply itself, or what a relay has wrapped, even as a list of one.
 * A reply that has an id of its own is not a wrapper, whatever else it carries.
 */
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

/** Every id that an object gives itself, of whatever kind, in order of preference. */
export function idsIn(job: JsonObject): string[] {
  return ['name', ...idNames].map((name) => idOf(job[name])).filter((id) => id !== undefined)
}

/** The id of a video, which is never the name of an operation. */
export function videoIdIn(job: JsonObject): string | undefined {
  return idNames.map((name) => idOf(job[name])).find((id) => id !== undefined)
}

export function idOf(value: unknown): string | undefined {
  const id = Number.isSafeInteger(value) ? String(value) : stringOf(value)
  return id === undefined || id.trim() === '' ? undefined : id
}

/** The gateway's word for the state: a field of its own, or one in an operation's metadata. */
export function wordIn(job: JsonObject): string | undefined {
  const metadata = objectOf(job['metadata'])
  const found = [...statusNames.map((name) => job[name]), metadata['state'], metadata['status']]
  return found.map(stringOf).find((word) => word !== undefined && word.trim() !== '')
}

export function stateOfWord(word: string | undefined): VideoState | undefined {
  return word === undefined ? undefined : videoStateOf(word)
}

/** Whether an operation is done; relays write booleans as words and numbers. */
export function isDone({ done }: JsonObject): boolean {
  return done === true || done === 1 || /^\s*(true|1)\s*$/i.test(stringOf(done) ?? '')
}

/** A whole percentage, from a number or a text with or without a percent sign; null when there is none. */
export function progressIn(job: JsonObject): number | null {
  const metadata = objectOf(job['metadata'])
  for (const value of [job, metadata].flatMap((object) => progressNames.map((name) => object[name]))) {
    const text = stringOf(value)?.trim().replace(/\s*%$/, '')
    const progress = text === undefined || text === '' ? value : Number(text)
    if (typeof progress === 'number' && !Number.isNaN(progress)) {
      return Math.floor(Math.min(100, Math.max(0, progress)))
    }
  }
  return null
}

/** A time as Unix seconds, from the first of these fields that holds one; relays write zero for "not yet". */
export function timeIn(job: JsonObject, names: readonly string[]): number | null {
  for (const value of names.map((name) => job[name])) {
    const text = stringOf(value)?.trim()
    let time = text === undefined ? value : /^\d+(\.\d+)?$/.test(text) ? Number(text) : dateOf(text)
    if (typeof time !== 'number' || !Number.isFinite(time) || time <= 0) continue
    while (time >= maxSeconds) time /= 1000
    return Math.floor(time)
  }
  return null
}

/** A date such as `2026-01-01T00:00:00Z` as Unix seconds. */
function dateOf(text: string): number {
  return /^\d{4}-\d{2}-\d{2}T/.test(text) ? Date.parse(text) / 1000 : Number.NaN
}

/** The gateway's reason for a failed job. */
export interface JobFailure {
  readonly code: string | null
  readonly message: string
}

/** The codes of google.rpc.Status by number (google/rpc/code.proto). */
const rpcCodes = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const

/** Where relays write why a job failed (quirk 23). */
const reasonNames = [
  'error',
  'fail_reason',
  'failure_reason',
  'error_message',
  'task_status_msg',
  'last_error',
  'message',
] as const

/** Whether the object reports an error: one that is empty, or has only empty fields, says nothing. */
export function hasError(job: JsonObject): boolean {
  const error = firstOf(job['error'])
  if (isObject(error)) return Object.values(error).some(saysSomething)
  return (typeof error === 'string' && error.trim() !== '') || error === true
}

/** Only the first of several reasons is used. */
function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? (value as unknown[])[0] : value
}

function saysSomething(value: unknown): boolean {
  return typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value)
}

/**
 * Why the job failed; where the gateway gives no reason, the message says so (fault F3).
 * @param word the gateway's own word for the state
 */
export function failureIn(job: JsonObject, word: string | null): JobFailure {
  const given = reasonNames.map((name) => reasonOf(job[name])).filter((reason) => reason !== undefined)
  const message = given.find((reason) => reason.message !== undefined)?.message
  const code = given.find((reason) => reason.code !== undefined)?.code ?? null
  return { code, message: message ?? noReason(code ?? plainWord(word)) }
}

/** The videos that were generated and withheld, as an operation says (wire notes, section 7). */
interface Filtered {
  readonly count: number
  readonly reasons: readonly string[]
}

/** The same, of a whole reply. */
export function filteredOf(reply: JsonObject): Filtered {
  return filteredIn(objectOf(jobObject(reply)['response']))
}

export function filteredIn(response: JsonObject): Filtered {
  const holder = objectOf(response['generateVideoResponse'] ?? response)
  const count = holder['raiMediaFilteredCount']
  const reasons = listOf(holder['raiMediaFilteredReasons']).filter((reason) => typeof reason === 'string')
  return { count: Math.max(0, numberOf(count) ?? (Number(stringOf(count)) || 0), reasons.length), reasons }
}

/** Videos that were filtered, as a sentence; a reason that several share is given once. */
export function filteredSentence({ count, reasons }: Filtered, kept: number): string {
  const which =
    kept === 0 ? 'Every video was' : `${count} of ${count + kept} videos ${count === 1 ? 'was' : 'were'}`
  const why = [...new Set(reasons)].join(' ')
  return `${which} withheld by the gateway's filters${why === '' ? '. The gateway does not say why.' : `: ${why}`}`
}

function reasonOf(found: unknown): { readonly code?: string; readonly message?: string } | undefined {
  const value = firstOf(found)
  if (typeof value === 'string' && value.trim() !== '') return { message: value.trim().slice(0, 4096) }
  if (!isObject(value)) return undefined
  const { code, message } = readErrorValue(value)
  const number = code === undefined ? Number.NaN : Number(code)
  const word = rpcCodes[number] ?? code
  return { ...(word === undefined ? {} : { code: word }), ...(message === undefined ? {} : { message }) }
}

function noReason(word: string | null): string {
  return word === null ? 'no reason given' : `no reason given (${word})`
}

/** A state name that says more than "failed". */
function plainWord(word: string | null): string | null {
  return word === null || /^fail(ed|ure)?$|^error$/i.test(word) ? null : word
}
