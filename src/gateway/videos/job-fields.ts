import type { VideoState } from '../../contract/video-state.ts'
import type { JobKind } from '../../events/video.ts'

import { type JsonObject, isObject, objectOf, stringOf, listOf, numberOf } from '../../json.ts'

import { readErrorValue } from '../error-body.ts'

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
  /** For the user, a sentence. */
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

/** A name in snake case and in camel case. */
export function bothCases(name: string): readonly string[] {
  const camel = name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
  return camel === name ? [name] : [name, camel]
}

export function factsIn(job: JsonObject) {
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

export function idOf(value: unknown): string | undefined {
  return Number.isSafeInteger(value) ? String(value) : wordOf(value)
}

function wordOf(value: unknown): string | undefined {
  const word = stringOf(value)
  return word === undefined || word.trim() === '' ? undefined : word
}

export function wordIn(job: JsonObject): string | undefined {
  return valuesOf(job, 'word', wordOf)[0]
}

/** Whether an operation is done; relays write booleans as words and numbers. */
export function isDone({ done }: JsonObject): boolean {
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
export function hasError(job: JsonObject): boolean {
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
export function failureIn(job: JsonObject, word: string | null): JobFailure {
  const given = valuesOf(job, 'reason', reasonOf)
  const message = given.find((reason) => reason.message !== undefined)?.message
  const code = given.find((reason) => reason.code !== undefined)?.code ?? null
  // Some words say no more than that it has failed.
  const said = code ?? (/^fail(ed|ure)?$|^error$/i.test(word ?? '') ? null : word)
  return { code, message: message ?? (said === null ? 'no reason given' : `no reason given (${said})`) }
}

/** Videos that were generated and withheld (wire notes, section 7). */
interface Filtered {
  readonly count: number
  readonly reasons: readonly string[]
}

/** Of a whole reply. */
export function filteredOf(reply: JsonObject): Filtered {
  return filteredIn(objectOf(jobObject(reply)['response']))
}

export function filteredIn(response: JsonObject): Filtered {
  const holder = objectOf(response['generateVideoResponse'] ?? response)
  const count = holder['raiMediaFilteredCount']
  const reasons = listOf(holder['raiMediaFilteredReasons']).filter((reason) => typeof reason === 'string')
  return { count: Math.max(0, numberOf(count) ?? (Number(stringOf(count)) || 0), reasons.length), reasons }
}

/** A reason that several share is given once. */
export function filteredSentence({ count, reasons }: Filtered, kept: number): string {
  const which =
    kept === 0 ? 'Every video was' : `${count} of ${count + kept} videos ${count === 1 ? 'was' : 'were'}`
  const why = [...new Set(reasons)].join(' ')
  return `${which} withheld by the gateway's filters${why === '' ? '. The gateway does not say why.' : `: ${why}`}`
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
