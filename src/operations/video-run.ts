import { isFinal, videoStateOf } from '../contract/video-state.ts'
import { GenerationError, ModelgateError, type ErrorFacts } from '../errors.ts'
import { outputVersion } from '../events/version.ts'
import type { Mismatch } from '../events/text.ts'
import type { SavedVideo, VideoDocument, VideoFailure } from '../events/video.ts'
import type { JobProgress } from '../files/calls/job-record.ts'
import type { StoredJob } from '../files/calls/job-store.ts'
import { refusalHint } from '../gateway/gateway-errors.ts'
import { filteredOf, filteredSentence, jobObject, type JobReport } from '../gateway/videos/job-fields.ts'
import { modelInName } from '../gateway/videos/read-job.ts'
import { isObject, objectOf, stringOf, type JsonObject } from '../json.ts'
import { keepRecord, type NamedJob } from './jobs.ts'
import { mismatchError, videoDifferences } from './mismatch.ts'
import { settle, type Call, type Listener, type Outcome } from './operation.ts'
import { videoCount } from './video-request.ts'

/** What is known of a job, from the gateway or from the record, which may lack the gateway's own object. */
type KnownJob = Omit<JobReport, 'value' | 'isKnown' | 'failure' | 'note' | 'isCut' | 'nextLookUpMs'> & {
  readonly value: JobReport['value'] | null
}

/** What is a failure although the videos have come. */
export interface Judgement {
  /** A video that could not be verified. */
  readonly strict: boolean
  /** A video that is not what was asked for is none. */
  readonly acceptMismatch: boolean
}

/** An operation on one job: what is known of it, and what has been reported so far. */
export class VideoRun {
  /** The model as far as the command knows it; empty when it does not. */
  readonly #model: string
  readonly #command: VideoDocument['command']
  readonly #listener: Listener
  readonly #files = new Map<number, SavedVideo>()
  readonly #failures: VideoFailure[] = []
  readonly #mismatches: Mismatch[] = []
  readonly #warnings: string[] = []
  /** The latest report on the job; undefined until its id is known. */
  job: KnownJob | undefined
  stored: StoredJob | undefined

  constructor(
    listener: Listener,
    command: VideoDocument['command'],
    stored?: StoredJob,
    model = stored?.record.model ?? '',
  ) {
    this.#listener = listener
    this.#command = command
    this.stored = stored
    this.#model = model
    listener.event({ type: 'start', version: outputVersion, command, model: model === '' ? null : model })
  }

  /** Converts an exception of an operation on a job to its outcome. The gateway's own object is reported last (`raw`). */
  async settle(
    call: Call,
    work: () => Promise<ModelgateError | undefined>,
    amend: (error: ModelgateError) => ModelgateError = (error) => error,
  ): Promise<Outcome<VideoDocument>> {
    const amendAll = (error: ModelgateError) => {
      const known = amend(error)
      const billed = !call.hasSent() ? 'no' : this.job === undefined ? 'maybe' : 'yes'
      if (known.exit === 'bug') return known.amend({ billed })
      return known.exit === 'io' ? known.amend({ billed, ...known.facts }) : known
    }
    const outcome = await settle(call, work, () => this.document(), amendAll)
    this.reportRaw()
    return outcome
  }

  reportRaw(): void {
    const { job } = this
    if (job !== undefined && job.value !== null) this.#listener.raw?.(job.text ?? JSON.stringify(job.value))
  }

  /** Undefined while nothing is known of the job. */
  document(): VideoDocument | undefined {
    const { job, stored } = this
    if (job === undefined) return undefined
    const { id, kind, state, status, progress, createdAt, completedAt, expiresAt, value } = job
    const sent = jobObject(objectOf(value))
    // Relays count in milliseconds; the document counts whole seconds.
    const whole = (time: number | null | undefined) => (typeof time === 'number' ? Math.floor(time) : null)
    return {
      version: outputVersion,
      command: this.#command,
      model: job.model ?? (this.#model === '' ? null : this.#model),
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
      files: this.files,
      failures: this.#failures,
      mismatches: this.#mismatches,
      cost: null,
      request_id: job.requestId,
      warnings: this.#warnings,
    }
  }

  /** The videos that have been saved, in the order of their numbers. */
  get files(): SavedVideo[] {
    return [...this.#files].sort(([a], [b]) => a - b).map(([, file]) => file)
  }

  readonly warn = (message: string): void => {
    if (this.#warnings.includes(message)) return
    this.#warnings.push(message)
    this.#listener.event({ type: 'warning-add', message })
  }

  /** Reports a video that is saved, by its number from 1. */
  saved(index: number, file: SavedVideo): void {
    this.#files.set(index, file)
    this.#listener.event({ type: 'video-save', id: this.#id, index, file })
    this.compare(index, file)
  }

  /** Holds a video against the request of its job. @param index from 1 */
  compare(index: number, file: SavedVideo): void {
    const echo = jobObject(objectOf(this.job?.value))
    const found = videoDifferences(objectOf(this.stored?.record.request), file, echo)
    this.#mismatches.push(...found.map((one) => ({ index, ...one })))
  }

  /** Reports a video that could not be fetched. */
  failed(index: number, { code, message, facts }: ModelgateError): void {
    const failure = { index, code, message, rescued: facts.rescued?.[0] ?? null }
    this.#failures.push(failure)
    this.#listener.event({ type: 'video-fail', id: this.#id, failure })
  }

  /** A job has an id by the time that there is something to report of its videos. */
  get #id(): string {
    return this.job?.id ?? this.stored?.record.id ?? ''
  }

  /**
   * Reports the videos that were withheld, and those of which the gateway says nothing (fault E37).
   * @param count how many have come
   * @returns the error for missing videos and for those that are not what was asked for (exit 12), or with `strict` not
   *   known to be whole (exit 9)
   */
  shortfall(
    { id, value }: Pick<JobReport, 'id' | 'value'>,
    count: number,
    { acceptMismatch, strict }: Judgement,
  ): ModelgateError | undefined {
    const filtered = filteredOf(value)
    const known = count + filtered.count
    // Without a record nobody knows how many were asked for.
    const requested = this.stored === undefined ? known : videoCount(this.stored.record.request)
    const fewer = `The gateway sent only ${count} of ${requested} videos.`
    if (filtered.count > 0) {
      const [first = 'The gateway does not say why it was held back.', ...others] = filtered.reasons
      for (const [at, reason] of [first, ...others].entries()) {
        this.failed(count + at + 1, new GenerationError('content_refused', reason))
      }
    }
    for (let index = known + 1; index <= requested; index++) {
      this.failed(index, new GenerationError('nothing_generated', fewer))
    }
    if (filtered.count > 0) return someMissing(filteredSentence(filtered, count), id)
    if (known < requested) return someMissing(fewer, id)
    const mismatch = acceptMismatch
      ? undefined
      : mismatchError('video', this.#mismatches, (index) => this.#files.get(index)?.path)
    const doubtful = this.files.filter(({ verified }) => !verified).length
    if (mismatch !== undefined || !strict || doubtful === 0) return mismatch
    const message = `${doubtful === 1 ? 'A video' : `${doubtful} videos`} could not be verified as complete.`
    return new GenerationError('damaged_media', message, { billed: 'yes' })
  }

  /** Updates the record of the job, as `keepRecord` does. */
  keep(change: Partial<JobProgress>): Promise<void> {
    return keepRecord(this.stored, change, this.warn)
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

export function someMissing(message: string, remoteId: string, facts: ErrorFacts = {}): ModelgateError {
  const all = { phase: 'result', billed: 'yes', remoteId, ...facts } as const
  return new ModelgateError('partial', 'some_failed', message, all)
}

export function jobFailed({ id, failure, requestId }: JobReport): GenerationError {
  const { code, message } = failure ?? { code: null, message: 'no reason given' }
  const reason = code === null || message.includes(code) ? message : `${message} (${code})`
  return new GenerationError('generation_failed', `The job ${id} failed: ${reason}`, {
    remoteId: id,
    ...(requestId === null ? {} : { requestId }),
    hint: refusalHint({ message, words: [code ?? ''] }),
  })
}

/** What the record tells of a job, in place of a report. */
export function recordedJob({ id, kind, stored }: NamedJob): KnownJob {
  const record = stored?.record
  const value = isObject(record?.result?.reply) ? record.result.reply : null
  const model = kind === 'operation' ? modelInName(id) : stringOf(jobObject(objectOf(value))['model'])
  return {
    id,
    kind,
    model: model ?? null,
    state: videoStateOf(record?.state ?? '') ?? 'pending',
    status: record?.status ?? null,
    progress: record?.progress ?? null,
    createdAt: record?.created_at ?? null,
    completedAt: record?.completed_at ?? null,
    expiresAt: record?.expires_at ?? null,
    requestId: record?.request_id ?? null,
    value,
  }
}

/** The document of a job of which the gateway has told nothing. */
export function recordedDocument(named: NamedJob): VideoDocument {
  const run = new VideoRun({ event() {}, flush: async () => {} }, 'wait', named.stored)
  run.job = recordedJob(named)
  return run.document()!
}
