import { isFinal } from '../contract/video-state.ts'
import { GenerationError, ModelgateError, type ErrorFacts } from '../errors.ts'
import { outputVersion } from '../events/version.ts'
import type { Mismatch } from '../events/text.ts'
import type { JobKind, SavedVideo, VideoDocument, VideoFailure } from '../events/video.ts'
import type { JobProgress, JobRecord } from '../files/calls/job-record.ts'
import type { StoredJob } from '../files/calls/job-store.ts'
import { refusalHint } from '../gateway/gateway-errors.ts'
import { filteredOf, filteredSentence, jobObject, type JobReport } from '../gateway/videos/job-fields.ts'
import { modelInName } from '../gateway/videos/read-job.ts'
import { isObject, objectOf, stringOf, type JsonObject } from '../json.ts'
import { keepRecord } from './jobs.ts'
import { mismatchError, videoDifferences } from './mismatch.ts'
import { settle, type Call, type Listener, type Outcome } from './operation.ts'
import { videoCount } from './video-request.ts'

/** What is known of a job, from the gateway or from the record, which may lack the gateway's own object. */
type KnownJob = Pick<
  JobReport,
  | 'id'
  | 'kind'
  | 'model'
  | 'state'
  | 'status'
  | 'progress'
  | 'createdAt'
  | 'completedAt'
  | 'expiresAt'
  | 'requestId'
  | 'text'
> & { readonly value: JobReport['value'] | null }

/** The state of an operation on one job, and what it has reported so far. */
export interface VideoRun {
  readonly listener: Listener
  readonly command: VideoDocument['command']
  /** The model as far as the command knows it; empty when it does not. */
  readonly model: string
  /** The recorded job. */
  stored: StoredJob | undefined
  /** The latest report on the job; undefined until its id is known. */
  job: KnownJob | undefined
  readonly files: Map<number, SavedVideo>
  readonly failures: VideoFailure[]
  readonly mismatches: Mismatch[]
  readonly warnings: string[]
}

/** What is a failure although the videos have come. */
export interface Judgement {
  /** A video that could not be verified. */
  readonly strict: boolean
  /** A video that is not what was asked for is none. */
  readonly acceptMismatch: boolean
}

/** Starts a run and reports that. */
export function beginRun(
  listener: Listener,
  { command, model, stored }: Pick<VideoRun, 'command' | 'model' | 'stored'>,
): VideoRun {
  listener.event({ type: 'start', version: outputVersion, command, model: model === '' ? null : model })
  const found = { files: new Map(), failures: [], mismatches: [], warnings: [] }
  return { listener, command, model, stored, job: undefined, ...found }
}

/** Converts an exception of an operation on a job to its outcome. The gateway's own object is reported last (`raw`). */
export async function settleRun(
  call: Call,
  run: VideoRun,
  work: () => Promise<ModelgateError | undefined>,
  amend: (error: ModelgateError) => Promise<ModelgateError> = async (error) => error,
): Promise<Outcome<VideoDocument>> {
  const amendAll = async (error: ModelgateError) => {
    const known = await amend(error)
    const billed = !call.hasSent() ? 'no' : run.job === undefined ? 'maybe' : 'yes'
    if (known.exit === 'bug') return known.amend({ billed })
    return known.exit === 'io' ? known.amend({ billed, ...known.facts }) : known
  }
  const outcome = await settle(call, work, () => documentOf(run), amendAll)
  reportRaw(run)
  return outcome
}

/** The gateway's own object, as last received. */
export function reportRaw({ listener, job }: VideoRun): void {
  if (job !== undefined && job.value !== null) listener.raw?.(job.text ?? JSON.stringify(job.value))
}

/** Undefined while nothing is known of the job. */
export function documentOf(run: VideoRun): VideoDocument | undefined {
  const { command, model, job, stored, failures, mismatches, warnings } = run
  if (job === undefined) return undefined
  const { id, kind, state, status, progress, createdAt, completedAt, expiresAt, value } = job
  const sent = jobObject(objectOf(value))
  // Relays count in milliseconds; the document counts whole seconds.
  const whole = (time: number | null | undefined) => (typeof time === 'number' ? Math.floor(time) : null)
  return {
    version: outputVersion,
    command,
    model: job.model ?? (model === '' ? null : model),
    id,
    kind,
    state,
    status,
    progress,
    seconds: wordOf(sent['seconds']),
    size: wordOf(sent['size']),
    remixed_from_video_id: sourceIn(sent),
    created_at: whole(createdAt ?? stored?.record.created_at),
    completed_at: isFinal(state) ? whole(completedAt ?? stored?.record.completed_at) : null,
    expires_at: whole(expiresAt),
    video: kind === 'video' ? value : null,
    operation: kind === 'video' ? null : value,
    files: savedFiles(run),
    failures,
    mismatches,
    cost: null,
    request_id: job.requestId,
    warnings,
  }
}

/** A text; relays send numbers as well. */
function wordOf(value: unknown): string | null {
  return stringOf(value) ?? (typeof value === 'number' ? String(value) : null)
}

/** The video that a remix started from; relays put the address of the result there (quirk 22). */
function sourceIn(sent: JsonObject): string | null {
  const source = stringOf(sent['remixed_from_video_id'])
  return source === undefined || source === '' || /^[a-z]+:/i.test(source) ? null : source
}

/** The videos that have been saved, in the order of their numbers. */
export function savedFiles({ files }: VideoRun): SavedVideo[] {
  return [...files].sort(([a], [b]) => a - b).map(([, file]) => file)
}

/** Emits a warning, without duplicates. */
export function warn({ warnings, listener }: VideoRun, message: string): void {
  if (warnings.includes(message)) return
  warnings.push(message)
  listener.event({ type: 'warning-add', message })
}

/** Reports a video that is saved, by its number from 1. */
export function reportSaved(run: VideoRun, index: number, file: SavedVideo): void {
  run.files.set(index, file)
  run.listener.event({ type: 'video-save', id: idOf(run), index, file })
  compareVideo(run, index, file)
}

/** Holds a video against the request of its job. @param index from 1 */
export function compareVideo(run: VideoRun, index: number, file: SavedVideo): void {
  const echo = jobObject(objectOf(run.job?.value))
  const found = videoDifferences(objectOf(run.stored?.record.request), file, echo)
  run.mismatches.push(...found.map((one) => ({ index, ...one })))
}

/** Reports a video that could not be fetched. */
export function reportFailure(run: VideoRun, index: number, error: ModelgateError): void {
  const { code, message, facts } = error
  const failure = { index, code, message, rescued: facts.rescued?.[0] ?? null }
  run.failures.push(failure)
  run.listener.event({ type: 'video-fail', id: idOf(run), failure })
}

/** A job has an id by the time that there is something to report of its videos. */
function idOf({ job, stored }: VideoRun): string {
  return job?.id ?? stored?.record.id ?? ''
}

/**
 * Reports the videos that were generated but withheld.
 * @param count how many there are besides them
 * @returns the error for missing videos; undefined if there are none
 */
export function reportFiltered(
  run: VideoRun,
  { value, id }: Pick<JobReport, 'value' | 'id'>,
  count: number,
): ModelgateError | undefined {
  const filtered = filteredOf(value)
  if (filtered.count === 0) return undefined
  const reasons =
    filtered.reasons.length > 0 ? filtered.reasons : ['The gateway does not say why it was held back.']
  for (const [at, reason] of reasons.entries()) {
    reportFailure(run, count + at + 1, new GenerationError('content_refused', reason))
  }
  return someMissing(filteredSentence(filtered, count), id)
}

/** The error for missing videos (exit 12). */
export function someMissing(message: string, remoteId: string, facts: ErrorFacts = {}): ModelgateError {
  const all = { phase: 'result', billed: 'yes', remoteId, ...facts } as const
  return new ModelgateError('partial', 'some_failed', message, all)
}

/**
 * Reports the videos of which the gateway says nothing (fault E37); filtered ones are reported separately.
 * @param count how many videos there are
 * @returns the error for missing videos; undefined if there are none, or if nobody knows how many were asked for
 */
export function checkCount(
  run: VideoRun,
  { id, value }: Pick<JobReport, 'id' | 'value'>,
  count: number,
): ModelgateError | undefined {
  if (run.stored === undefined) return undefined
  const requested = videoCount(run.stored.record.request)
  const known = count + filteredOf(value).count
  if (known >= requested) return undefined
  const message = `The gateway sent only ${count} of ${requested} videos.`
  for (let index = known + 1; index <= requested; index++) {
    reportFailure(run, index, new GenerationError('nothing_generated', message))
  }
  return someMissing(message, id)
}

/** The error for videos that are not what was asked for (exit 12), or with `strict` not known to be whole (exit 9). */
export function doubtful(run: VideoRun, { acceptMismatch, strict }: Judgement): ModelgateError | undefined {
  const mismatch = acceptMismatch
    ? undefined
    : mismatchError('video', run.mismatches, (index) => run.files.get(index)?.path)
  if (mismatch !== undefined || !strict) return mismatch
  const count = savedFiles(run).filter(({ verified }) => !verified).length
  if (count === 0) return undefined
  const message = `${count === 1 ? 'A video' : `${count} videos`} could not be verified as complete.`
  return new GenerationError('damaged_media', message, { billed: 'yes' })
}

/** The error for a failed job (exit 9). */
export function jobFailed({ id, failure, requestId }: JobReport): GenerationError {
  const { code, message } = failure ?? { code: null, message: 'no reason given' }
  const reason = code === null || message.includes(code) ? message : `${message} (${code})`
  return new GenerationError('generation_failed', `The job ${id} failed: ${reason}`, {
    remoteId: id,
    ...(requestId === null ? {} : { requestId }),
    hint: refusalHint({ message, words: [code ?? ''] }),
  })
}

/** Updates the record of the job, as `keepRecord` does. */
export async function keepJob(run: VideoRun, change: Partial<JobProgress>): Promise<void> {
  await keepRecord(run.stored, change, (message) => warn(run, message))
}

/** The fields of a report that are recorded. */
export function changeOf(report: JobReport): Partial<JobProgress> {
  const { state, status, progress, completedAt, expiresAt, failure, requestId } = report
  return {
    ...(isFinal(state) && completedAt !== null ? { completed_at: Math.floor(completedAt) } : {}),
    state,
    status,
    progress,
    expires_at: expiresAt,
    request_id: requestId,
    error: failure === undefined ? null : { code: failure.code ?? 'failed', message: failure.message },
  }
}

/** Converts a record to a report. */
export function recordedJob(kind: JobKind, record: JobRecord): Omit<KnownJob, 'id' | 'state'> {
  const { status, progress, created_at, completed_at, expires_at, request_id, result } = record
  const value = isObject(result?.reply) ? result.reply : null
  const model =
    kind === 'operation' ? modelInName(record.id ?? '') : stringOf(jobObject(objectOf(value))['model'])
  return {
    kind,
    model: model ?? null,
    status,
    progress,
    createdAt: created_at,
    completedAt: completed_at ?? null,
    expiresAt: expires_at,
    requestId: request_id,
    value,
  }
}
