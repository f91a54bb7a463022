import { GenerationError, ModelgateError, type ErrorFacts } from '../errors.ts'
import { outputVersion } from '../events/output-schema.ts'
import type { JobKind, SavedVideo, VideoDocument, VideoFailure } from '../events/video.ts'
import type { JobRecord } from '../files/jobs/job-record.ts'
import type { StoredJob } from '../files/jobs/job-store.ts'
import { filteredOf, filteredSentence, jobObject, type JobReport } from '../gateway/videos/job-fields.ts'
import { modelInName } from '../gateway/videos/read-job.ts'
import { isObject, objectOf, stringOf } from '../json.ts'
import { countMismatch, settle, type Call, type Listener, type Outcome } from './operation.ts'
import { videoCount } from './video-request.ts'

/** What can be known of a job, from the gateway or from the record; the gateway's own object is not always on record. */
type KnownJob = Pick<
  JobReport,
  'id' | 'kind' | 'model' | 'state' | 'status' | 'progress' | 'expiresAt' | 'requestId' | 'text'
> & { readonly value: JobReport['value'] | null }

/** What an operation about one job knows of it, and has reported so far. */
export interface VideoRun {
  readonly listener: Listener
  readonly command: VideoDocument['command']
  /** The model as far as the command knows it; empty when it does not. */
  readonly model: string
  /** The job as this machine has it on record. */
  stored: StoredJob | undefined
  /** The newest that is known of the job; undefined before its id is. */
  job: KnownJob | undefined
  readonly files: Map<number, SavedVideo>
  readonly failures: VideoFailure[]
  readonly warnings: string[]
}

/** Begins a run, and reports that. */
export function beginRun(
  listener: Listener,
  { command, model, stored }: Pick<VideoRun, 'command' | 'model' | 'stored'>,
): VideoRun {
  listener.event({ type: 'start', version: outputVersion, command, model: model === '' ? null : model })
  return { listener, command, model, stored, job: undefined, files: new Map(), failures: [], warnings: [] }
}

/** Turns what an operation about a job throws into its outcome. The gateway's own object comes last (`raw`). */
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

/** The gateway's own object, the newest that came. */
export function reportRaw({ listener, job }: VideoRun): void {
  if (job !== undefined && job.value !== null) listener.raw?.(job.text ?? JSON.stringify(job.value))
}

/** Undefined while nothing is known of the job. */
export function documentOf(run: VideoRun): VideoDocument | undefined {
  const { command, model, job, failures, warnings } = run
  if (job === undefined) return undefined
  const { id, kind, state, status, progress, expiresAt, value } = job
  return {
    version: outputVersion,
    command,
    model: job.model ?? (model === '' ? null : model),
    id,
    kind,
    state,
    status,
    progress,
    // Relays count in milliseconds; the document counts whole seconds.
    expires_at: expiresAt === null ? null : Math.floor(expiresAt),
    video: kind === 'video' ? value : null,
    operation: kind === 'video' ? null : value,
    files: savedFiles(run),
    failures,
    request_id: job.requestId,
    warnings,
  }
}

/** The videos that have been saved, in the order of their numbers. */
export function savedFiles({ files }: VideoRun): SavedVideo[] {
  return [...files].sort(([a], [b]) => a - b).map(([, file]) => file)
}

/** Warns; of the same thing once. */
export function warn({ warnings, listener }: VideoRun, message: string): void {
  if (warnings.includes(message)) return
  warnings.push(message)
  listener.event({ type: 'warning-add', message })
}

/** Reports a video that is saved, by its number from 1. */
export function reportSaved({ files, listener }: VideoRun, index: number, file: SavedVideo): void {
  files.set(index, file)
  listener.event({ type: 'video-save', index, file })
}

/** Reports a video that could not be had. */
export function reportFailure({ failures, listener }: VideoRun, index: number, error: ModelgateError): void {
  const { code, message, facts } = error
  const failure = { index, code, message, rescued: facts.rescued?.[0] ?? null }
  failures.push(failure)
  listener.event({ type: 'video-fail', failure })
}

/**
 * Reports the videos that were made and not handed over.
 * @param count how many there are beside them
 * @returns the error of a command of which some videos are missing; undefined when there are none
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
    reportFailure(run, count + at + 1, new GenerationError('filtered', reason))
  }
  return someMissing(filteredSentence(filtered, count), id)
}

/** The error of a command of which some videos are missing (exit 12). */
export function someMissing(message: string, remoteId: string, facts: ErrorFacts = {}): ModelgateError {
  const all = { phase: 'result', billed: 'yes', remoteId, ...facts } as const
  return new ModelgateError('partial', 'some_videos_failed', message, all)
}

/**
 * Fewer videos than were asked for are a result with a warning (fault E37); those that were filtered are reported
 * apart.
 * @param count how many videos there are
 * @returns the error that `strict` makes of it
 */
export function checkCount(
  run: VideoRun,
  { id, value }: Pick<JobReport, 'id' | 'value'>,
  count: number,
  strict: boolean,
): ModelgateError | undefined {
  if (run.stored === undefined) return undefined
  const requested = videoCount(run.stored.record.request)
  if (count + filteredOf(value).count >= requested) return undefined
  const message = countMismatch(count, requested, 'video')
  if (strict) return new GenerationError('fewer_videos', message, { remoteId: id, billed: 'yes' })
  warn(run, message)
  return undefined
}

/** The error that a failed job amounts to (exit 9). */
export function jobFailed({ id, failure, requestId }: JobReport): GenerationError {
  const { code, message } = failure ?? { code: null, message: 'no reason given' }
  const reason = code === null || message.includes(code) ? message : `${message} (${code})`
  return new GenerationError('job_failed', `The job ${id} failed: ${reason}`, {
    remoteId: id,
    ...(requestId === null ? {} : { requestId }),
  })
}

/** Puts what has been learned on record. A disk that fails must not fail the job: that is one warning. */
export async function keepRecord(run: VideoRun, change: Parameters<StoredJob['update']>[0]): Promise<void> {
  await run.stored?.update(change).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error)
    warn(run, `The job's record cannot be kept up to date: ${reason}`)
  })
}

/** What a report adds to a record. */
export function changeOf(report: JobReport): Parameters<StoredJob['update']>[0] {
  const { state, status, progress, expiresAt, failure, requestId } = report
  return {
    state,
    status,
    progress,
    expires_at: expiresAt,
    request_id: requestId,
    error: failure === undefined ? null : { code: failure.code ?? 'failed', message: failure.message },
  }
}

/** What the record knows of a job, in the form of a report of the gateway. */
export function recordedJob(kind: JobKind, record: JobRecord): Omit<KnownJob, 'id' | 'state'> {
  const { status, progress, expires_at, request_id, result } = record
  const value = isObject(result?.reply) ? result.reply : null
  const model =
    kind === 'operation' ? modelInName(record.id ?? '') : stringOf(jobObject(objectOf(value))['model'])
  return {
    kind,
    model: model ?? null,
    status,
    progress,
    expiresAt: expires_at,
    requestId: request_id,
    value,
  }
}
