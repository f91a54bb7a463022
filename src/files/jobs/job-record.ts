import { hasEnded } from '../../contract/video-state.ts'
import type { JobKind, JobSummary, SavedVideo } from '../../events/video.ts'
import { type VideoState, videoStates } from '../../contract/videos.ts'
import { isObject } from '../../json.ts'
import { parseJson } from '../parse-json.ts'

/** Incremented when a field is added; fields are never removed. */
const recordVersion = 2

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
export interface NewJob {
  readonly kind: JobKind
  /** `video generate`, `video remix`. */
  readonly command: string
  readonly model: string
  readonly prompt: string
  /** Without credentials and query. */
  readonly base_url: string
  readonly is_sandbox: boolean
  /** The body of the request, without media. */
  readonly request: unknown
  readonly idempotency_key: string
  readonly output: JobOutput
}

/** What is learned about a job after the request has been sent. */
export interface JobProgress {
  /** The id of a video, or the name of an operation; null until the gateway's reply has arrived. */
  readonly id: string | null
  /** Unix seconds, of this machine's clock. */
  readonly checked_at: number | null
  readonly state: VideoState | 'unknown'
  /** The gateway's own name for the state. */
  readonly status: string | null
  /** 0 to 100, for display. */
  readonly progress: number | null
  /** Unix seconds. */
  readonly expires_at: number | null
  /** Absolute paths of the videos that have been saved. */
  readonly files: readonly string[]
  readonly request_id: string | null
  readonly error: { readonly code: string; readonly message: string } | null
  /** Added in version 2; set once every video of the job has been saved. */
  readonly result?: JobResult
}

/** The result of a job, so that it can be reported again after the gateway has deleted the job. */
interface JobResult {
  /** The gateway's own object, without media. */
  readonly reply: unknown
  /** In the order of their numbers, with absolute paths. */
  readonly videos: readonly SavedVideo[]
}

/** The record of a job. Fields of later versions are preserved. */
export interface JobRecord extends NewJob, JobProgress {
  readonly version: number
  /** Unix seconds, of this machine's clock. */
  readonly created_at: number
}

/** Creates the record of a job before its request is sent. @param now Unix seconds */
export function newRecord(job: NewJob, now: number): JobRecord {
  return {
    version: recordVersion,
    id: null,
    kind: job.kind,
    command: job.command,
    model: job.model,
    prompt: job.prompt,
    base_url: recordedBaseUrl(job.base_url),
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
    request_id: null,
    error: null,
  }
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
export function mergeRecords(before: JobRecord, after: JobRecord): JobRecord {
  const { state, status, progress, error } = rank(after) < rank(before) ? before : after
  return {
    ...before,
    ...after,
    id: after.id ?? before.id,
    checked_at: latest(before.checked_at, after.checked_at),
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
  const { idempotency_key, created_at, checked_at, expires_at, files } = record
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
    expires_at,
    files,
  }
}

function rank({ state }: JobRecord): number {
  if (state === 'unknown') return 0
  return hasEnded(state) ? 2 : 1
}

function latest(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other)
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

const fields: Readonly<Record<Exclude<keyof JobRecord, 'result'>, Check>> = {
  version: (value) => Number.isInteger(value) && (value as number) >= 1,
  id: orNull(isText),
  kind: isOneOf(['video', 'operation']),
  command: isText,
  model: isText,
  prompt: isText,
  base_url: isText,
  is_sandbox: isBoolean,
  request: (value) => value !== undefined,
  idempotency_key: isText,
  created_at: isNumber,
  checked_at: orNull(isNumber),
  state: isOneOf([...videoStates, 'unknown']),
  status: orNull(isText),
  progress: orNull(isNumber),
  expires_at: orNull(isNumber),
  files: (value) => Array.isArray(value) && value.every(isText),
  output: hasFields({ output: orNull(isText), folder: orNull(isText), force: isBoolean, cwd: isText }),
  request_id: orNull(isText),
  error: orNull(hasFields({ code: isText, message: isText })),
}

type DecodedRecord =
  | { readonly record: JobRecord; readonly problem?: never }
  | { readonly problem: string; readonly record?: never }

/** Parses a record, keeping unknown fields. The problem is a clause. */
export function decodeRecord(text: string): DecodedRecord {
  const { value, problem } = parseJson(text)
  if (problem !== undefined) return { problem }
  if (!isObject(value)) return { problem: 'is not a JSON object' }
  const wrong = wrongField(Object.hasOwn(value, 'result') ? { ...fields, result: isResult } : fields, value)
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
