import { createHash, randomBytes } from 'node:crypto'
import { isFinal, jobStates } from '../../contract/video-state.ts'
import type { JobKind, JobSummary, SavedVideo } from '../../events/video.ts'

import { isObject } from '../../json.ts'
import { parseJson } from '../parse-json.ts'

/** Incremented when a field is added; fields are never removed. */
const recordVersion = 5

/** What a record is about: a video or an operation, a background response, images at addresses. */
export type RecordKind = JobSummary['kind']
export const videoKinds = ['video', 'operation'] as const satisfies readonly JobKind[]
/** Every kind, with the folder of its records in the state folder. */
export const recordFolders = {
  video: 'jobs',
  operation: 'jobs',
  response: 'responses',
  image: 'images',
} as const satisfies Record<RecordKind, string>
export const recordKinds = Object.keys(recordFolders) as readonly RecordKind[]
type JobState = JobSummary['state']
const states: readonly JobState[] = [...jobStates, 'unknown']

/** The output options of the command that started the job. */
interface JobOutput {
  /** What `-o` said. */
  readonly output: string | null
  /** The folder for files that `-o` does not name (`output_dir`). */
  readonly folder: string | null
  readonly force: boolean
  /** The folder that relative paths are relative to. */
  readonly cwd: string
}

/** What is known about a job before the request is sent. */
export interface NewJob<Kind extends RecordKind = RecordKind> {
  readonly kind: Kind
  /** `video generate`, `video remix`, `respond`. */
  readonly command: string
  readonly model: string
  readonly prompt: string
  /** Without credentials and query. */
  readonly base_url: string
  /** Added in version 3: the profile whose settings led there. */
  readonly profile?: string
  /** Added in version 4: whose key it was, as `digestOfKey` writes it. */
  readonly key_digest?: string
  readonly is_sandbox: boolean
  /** The body of the request, without media. */
  readonly request: unknown
  readonly idempotency_key: string
  readonly output: JobOutput
  /** Added in version 3: whether the answer of a background response is checked against the schema in the request. */
  readonly checks_schema?: boolean
  /** Added in version 5: the terminal that the command was typed in. */
  readonly terminal?: string
}

/** What is learned about a job after the request has been sent. */
export interface JobProgress {
  /** The id of a video or a response, or the name of an operation; null until the gateway's reply has arrived. */
  readonly id: string | null
  /** Unix seconds, of this machine's clock. */
  readonly checked_at: number | null
  /** Added in version 3; Unix seconds, of the gateway's clock if it says when, else when its end was first seen. */
  readonly completed_at?: number | null
  readonly state: JobState
  /** The gateway's own name for the state. */
  readonly status: string | null
  /** 0 to 100, for display. */
  readonly progress: number | null
  /** Unix seconds. */
  readonly expires_at: number | null
  /** Absolute paths of the results that have been saved. */
  readonly files: readonly string[]
  readonly request_id: string | null
  readonly error: { readonly code: string; readonly message: string } | null
  /** Added in version 2; set once every video of the job has been saved. */
  readonly result?: JobResult
  /** Added in version 4: where the images are. */
  readonly made?: MadeImages
}

/** The result of a job, so that it can be reported again after the gateway has deleted the job. */
interface JobResult {
  /** The gateway's own object, without media. */
  readonly reply: unknown
  /** In the order of their numbers, with absolute paths. */
  readonly videos: readonly SavedVideo[]
}

/** The results of a request that are at addresses, as they go on record. */
export interface MadeImages {
  /** The gateway: the origin of its base URL. */
  readonly origin: string
  /** When the addresses expire: Unix time in seconds. */
  readonly expires_at: number
  readonly images: readonly RemoteImage[]
  readonly model: string | null
  readonly request_id: string | null
  /** As the gateway sent it. */
  readonly usage: unknown
}

/** A result that the gateway returned as a URL. */
export interface RemoteImage {
  /** Number of the image, from 1. */
  readonly index: number
  readonly url: string
}

/** The record of a job. Fields of later versions are preserved. */
export interface JobRecord<Kind extends RecordKind = RecordKind> extends NewJob<Kind>, JobProgress {
  readonly version: number
  /** Unix seconds, of this machine's clock. */
  readonly created_at: number
}

/** Creates the record of a job before its request is sent. @param now Unix seconds */
export function newRecord<Kind extends RecordKind>(job: NewJob<Kind>, now: number): JobRecord<Kind> {
  return {
    version: recordVersion,
    id: null,
    kind: job.kind,
    command: job.command,
    model: job.model,
    prompt: job.prompt,
    base_url: recordedBaseUrl(job.base_url),
    ...(job.profile === undefined ? {} : { profile: job.profile }),
    ...(job.key_digest === undefined ? {} : { key_digest: job.key_digest }),
    is_sandbox: job.is_sandbox,
    request: withoutMedia(job.request),
    idempotency_key: job.idempotency_key,
    created_at: now,
    checked_at: null,
    state: 'unknown',
    status: null,
    progress: null,
    expires_at: null,
    files: [],
    output: job.output,
    ...(job.checks_schema === undefined ? {} : { checks_schema: job.checks_schema }),
    ...(job.terminal === undefined ? {} : { terminal: job.terminal }),
    request_id: null,
    error: null,
  }
}

/** A key as records name it: a random salt, and the SHA-256 of both. It tells whether a key is the same, and no more. */
export function digestOfKey(key: string, salt = randomBytes(8).toString('hex')): string {
  return `${salt}:${createHash('sha256').update(`${salt}:${key}`).digest('hex')}`
}

/** Whether the job was started with this key; false also for a record of before version 4, which does not say. */
export function isStartedWith({ key_digest }: Pick<NewJob, 'key_digest'>, key: string): boolean {
  return key_digest !== undefined && digestOfKey(key, key_digest.split(':')[0]) === key_digest
}

/** Converts a report about a job to fields of its record. */
export function recordedChange(change: Partial<JobProgress>): Partial<JobProgress> {
  const { result } = change
  if (result === undefined) return change
  return { ...change, result: { ...result, reply: withoutMedia(result.reply) } }
}

/**
 * Merges two records of a job: the later one, with whatever must not be lost from the earlier one: an id, a saved
 * file, and that the job has ended. The result does not depend on the order of merging.
 */
export function mergeRecords<Kind extends RecordKind>(
  before: JobRecord<Kind>,
  after: JobRecord<Kind>,
): JobRecord<Kind> {
  const { state, status, progress, error } = rank(after) < rank(before) ? before : after
  return {
    ...before,
    ...after,
    id: after.id ?? before.id,
    checked_at: latest(before.checked_at, after.checked_at),
    ...earliestEnd(before, after),
    state,
    status,
    progress,
    error,
    expires_at: after.expires_at ?? before.expires_at,
    files: [...new Set([...before.files, ...after.files])],
    request_id: after.request_id ?? before.request_id,
  }
}

/** The fields for output. */
export function summaryOf(record: JobRecord): JobSummary {
  const { id, kind, state, status, progress, model, prompt, base_url, is_sandbox } = record
  const { idempotency_key, created_at, checked_at, completed_at = null, expires_at, files } = record
  return {
    id,
    kind,
    state,
    status,
    progress,
    model,
    prompt,
    base_url,
    is_sandbox,
    idempotency_key,
    created_at,
    checked_at,
    completed_at,
    expires_at,
    files,
  }
}

function rank({ state }: JobRecord): number {
  if (state === 'unknown') return 0
  return isFinal(state) ? 2 : 1
}

function latest(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other)
}

/** The gateway says when a job ended, or it is first seen later. */
function earliestEnd(one: JobRecord, other: JobRecord): { completed_at?: number } {
  const ends = [one.completed_at, other.completed_at].filter((end) => typeof end === 'number')
  return ends.length === 0 ? {} : { completed_at: Math.min(...ends) }
}

/** A base URL without its user, password and query, any of which may be a key. */
function recordedBaseUrl(baseUrl: string): string {
  const url = URL.parse(baseUrl)
  return url === null ? '' : `${url.protocol}//${url.host}${url.pathname}`
}

/** Longer text without spaces is treated as encoded media. */
const maxWordLength = 4096

/** A copy with media replaced by null: they would fill the disk, and do not help to find a job again. */
function withoutMedia(value: unknown): unknown {
  if (typeof value === 'string') return isMedia(value) ? null : value
  if (Array.isArray(value)) return value.map(withoutMedia)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      typeof inner === 'string' && /base64|b64/i.test(name) ? null : withoutMedia(inner),
    ]),
  )
}

function isMedia(text: string): boolean {
  return /^\s*data:[^,]*,/i.test(text) || (text.length > maxWordLength && /^[\w+/=-]+$/.test(text))
}

type Check = (value: unknown) => boolean

const isText: Check = (value) => typeof value === 'string'
const isBoolean: Check = (value) => typeof value === 'boolean'
const isNumber: Check = (value) => typeof value === 'number' && Number.isFinite(value)
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value)
const isOneOf =
  (words: readonly string[]): Check =>
  (value) =>
    words.includes(value as string)
const hasFields =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isObject(value) && wrongField(checks, value) === undefined

const isVideo = hasFields({
  path: isText,
  bytes: isNumber,
  sha256: isText,
  mime_type: isText,
  format: isText,
  width: orNull(isNumber),
  height: orNull(isNumber),
  seconds: orNull(isNumber),
})
const isResult = hasFields({
  reply: (value) => value !== undefined,
  videos: (value) => Array.isArray(value) && value.length > 0 && value.every(isVideo),
})

const isMade = hasFields({
  origin: isText,
  expires_at: isNumber,
  images: (value) => Array.isArray(value) && value.every(hasFields({ index: isNumber, url: isText })),
  model: orNull(isText),
  request_id: orNull(isText),
  usage: (value) => value !== undefined,
})

const fields: Readonly<Record<Exclude<keyof JobRecord, keyof typeof laterFields>, Check>> = {
  kind: isOneOf(recordKinds),
  state: isOneOf(states),
  version: (value) => Number.isInteger(value) && (value as number) >= 1,
  id: orNull(isText),
  command: isText,
  model: isText,
  prompt: isText,
  base_url: isText,
  is_sandbox: isBoolean,
  request: (value) => value !== undefined,
  idempotency_key: isText,
  created_at: isNumber,
  checked_at: orNull(isNumber),
  status: orNull(isText),
  progress: orNull(isNumber),
  expires_at: orNull(isNumber),
  files: (value) => Array.isArray(value) && value.every(isText),
  output: hasFields({ output: orNull(isText), folder: orNull(isText), force: isBoolean, cwd: isText }),
  request_id: orNull(isText),
  error: orNull(hasFields({ code: isText, message: isText })),
}

/** Fields that not every record has. */
const laterFields = {
  result: isResult,
  checks_schema: isBoolean,
  terminal: isText,
  profile: isText,
  key_digest: isText,
  made: isMade,
  completed_at: orNull(isNumber),
}

/** Parses a record, keeping unknown fields. The problem is a clause. */
export function decodeRecord(
  text: string,
):
  | { readonly record: JobRecord; readonly problem?: never }
  | { readonly problem: string; readonly record?: never } {
  const { value, problem } = parseJson(text)
  if (problem !== undefined) return { problem }
  if (!isObject(value)) return { problem: 'is not a JSON object' }
  const later = Object.entries(laterFields).filter(([name]) => Object.hasOwn(value, name))
  const wrong = wrongField({ ...fields, ...Object.fromEntries(later) }, value)
  return wrong === undefined
    ? { record: value as unknown as JobRecord }
    : { problem: `has no valid "${wrong}"` }
}

function wrongField(
  checks: Readonly<Record<string, Check>>,
  value: Readonly<Record<string, unknown>>,
): string | undefined {
  return Object.keys(checks).find((name) => !Object.hasOwn(value, name) || !checks[name]!(value[name]))
}
