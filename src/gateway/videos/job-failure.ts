import { readErrorValue } from '../error-body.ts'
import { jobObject } from './job-fields.ts'
import { isObject, listOf, numberOf, objectOf, stringOf, type JsonObject } from '../json-access.ts'

/** Why a job failed, in the gateway's words. */
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

/** Whether the object tells of an error: one that is empty, or has only empty fields, says nothing. */
export function hasError(job: JsonObject): boolean {
  const error = firstOf(job['error'])
  if (isObject(error)) return Object.values(error).some(saysSomething)
  return (typeof error === 'string' && error.trim() !== '') || error === true
}

/** A list of reasons stands for its first. */
function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? (value as unknown[])[0] : value
}

function saysSomething(value: unknown): boolean {
  return typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value)
}

/**
 * Why the job failed. Where nothing is said, that is said (fault F3).
 * @param word the gateway's own word for the state
 */
export function failureIn(job: JsonObject, word: string | null): JobFailure {
  const told = reasonNames.map((name) => reasonOf(job[name])).filter((reason) => reason !== undefined)
  const message = told.find((reason) => reason.message !== undefined)?.message
  const code = told.find((reason) => reason.code !== undefined)?.code ?? null
  return { code, message: message ?? noReason(code ?? plainWord(word)) }
}

/** What an operation says of videos that were made and not handed over (wire facts, section 7). */
export interface Filtered {
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

/** Videos that were filtered, as a sentence; a reason that several have stands there once. */
export function filteredSentence({ count, reasons }: Filtered, kept: number): string {
  const which =
    kept === 0 ? 'Every video was' : `${count} of ${count + kept} videos ${count === 1 ? 'was' : 'were'}`
  const told = [...new Set(reasons)].join(' ')
  return `${which} held back by the gateway's filters: ${told || 'no reason given.'}`
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

/** A word that says more than "failed" does. */
function plainWord(word: string | null): string | null {
  return word === null || /^fail(ed|ure)?$|^error$/i.test(word) ? null : word
}
