import { createHash, randomBytes } from 'node:crypto'
import { isFinal } from '../../contract/videos.ts'
import type { JobKind, JobSummary, SavedVideo } from '../../events/video.ts'
import { objectOf } from '../../json.ts'

export type RecordKind = JobSummary['kind']
export const videoKinds = ['video', 'operation'] as const satisfies readonly JobKind[]
export const recordKinds = ['video', 'operation', 'response', 'image'] as const

export interface NewJob<Kind extends RecordKind = RecordKind> extends Pick<
  JobSummary,
  'model' | 'base_url' | 'is_sandbox' | 'idempotency_key'
> {
  readonly kind: Kind
  readonly command: string
  readonly profile?: string
  readonly key_digest?: string
  /** The body of the request, without media and words. */
  readonly request: unknown
  readonly output: {
    readonly output: string | null
    readonly folder: string | null
    readonly force: boolean
    readonly cwd: string
  }
  readonly checks_schema?: boolean | undefined
  readonly terminal?: string | undefined
}

export interface JobProgress
  extends
    Pick<JobSummary, 'id' | 'checked_at' | 'state' | 'status' | 'progress' | 'expires_at' | 'files'>,
    Partial<Pick<JobSummary, 'completed_at'>> {
  readonly request_id: string | null
  readonly error: { readonly code: string; readonly message: string } | null
  /** Once every video has been saved, so that it can be reported after the gateway has deleted the job. */
  readonly result?: {
    /** The gateway's own object, without media and prompt. */
    readonly reply: unknown
    readonly videos: readonly SavedVideo[]
  }
  readonly made?: MadeImages
}

export interface MadeImages {
  readonly origin: string
  /** Of the addresses; Unix seconds. */
  readonly expires_at: number
  readonly images: readonly RemoteImage[]
  readonly model: string | null
  readonly request_id: string | null
  readonly usage: unknown
}

export interface RemoteImage {
  readonly index: number
  readonly url: string
}

/** Times are Unix seconds; the prompt is kept apart. Fields are added in later versions, and never removed. */
export interface JobRecord<Kind extends RecordKind = RecordKind> extends NewJob<Kind>, JobProgress {
  readonly created_at: number
}

export function newRecord(job: NewJob, now: number): JobRecord {
  return {
    ...job,
    id: null,
    base_url: recordedBaseUrl(job.base_url),
    request: requestFacts(job),
    created_at: now,
    checked_at: null,
    state: 'unknown',
    status: null,
    progress: null,
    expires_at: null,
    files: [],
    request_id: null,
    error: null,
  }
}

/** Neither media nor what the user said. */
export function requestFacts({ kind, request }: Pick<NewJob, 'kind' | 'request'>): unknown {
  const { prompt: _, instances, parameters, ...body } = objectOf(request)
  if (kind === 'response') return { text: body['text'] }
  const { negativePrompt: __, ...rest } = objectOf(parameters)
  return withoutMedia({
    ...body,
    ...(parameters === undefined ? {} : { parameters: rest }),
    // How many they are says how many videos there will be.
    ...(Array.isArray(instances) ? { instances: instances.map(() => ({})) } : {}),
  })
}

/** A random salt, and the SHA-256 of both: it shows whether a key is the same, and no more. */
export function digestOfKey(key: string, salt = randomBytes(8).toString('hex')): string {
  return `${salt}:${createHash('sha256').update(`${salt}:${key}`).digest('hex')}`
}

export function isStartedWith({ key_digest }: Pick<NewJob, 'key_digest'>, key: string): boolean {
  return key_digest !== undefined && digestOfKey(key, key_digest.split(':')[0]) === key_digest
}

export function recordedChange(change: Partial<JobProgress>): Partial<JobProgress> {
  const { result } = change
  if (result === undefined) return change
  const { prompt: _, ...reply } = objectOf(result.reply)
  return { ...change, result: { ...result, reply: withoutMedia(reply) } }
}

/** An id, a saved file, and that the job has ended are never lost, in whatever order it is learned. */
export function withChange<Kind extends RecordKind>(
  before: JobRecord<Kind>,
  change: Partial<JobRecord<Kind>>,
): JobRecord<Kind> {
  const after = { ...before, ...change }
  const { state, status, progress, error } = rank(after) < rank(before) ? before : after
  // The gateway says when a job ended, or it is first seen later.
  const ends = [before.completed_at, after.completed_at].filter((end) => typeof end === 'number')
  return {
    ...after,
    id: after.id ?? before.id,
    checked_at: Math.max(before.checked_at ?? 0, after.checked_at ?? 0) || null,
    ...(ends.length > 0 && { completed_at: Math.min(...ends) }),
    state,
    status,
    progress,
    error,
    expires_at: after.expires_at ?? before.expires_at,
    files: [...new Set([...before.files, ...after.files])],
    request_id: after.request_id ?? before.request_id,
  }
}

export function summaryOf(record: JobRecord, prompt: string): JobSummary {
  const { id, kind, state, status, progress, model, base_url, is_sandbox } = record
  const { idempotency_key, created_at, checked_at, completed_at = null, expires_at, files } = record
  const job = { id, kind, state, status, progress, model, prompt, base_url, is_sandbox, idempotency_key }
  return { ...job, created_at, checked_at, completed_at, expires_at, files }
}

function rank({ state }: JobRecord): number {
  if (state === 'unknown') return 0
  return isFinal(state) ? 2 : 1
}

/** A base URL without its user, password and query, any of which may be a key. */
function recordedBaseUrl(baseUrl: string): string {
  const url = URL.parse(baseUrl)
  return url === null ? '' : `${url.protocol}//${url.host}${url.pathname}`
}

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
