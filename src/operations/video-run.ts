import { isFinal, lastSegment, videoStateOf, usualVideoSamples } from '../contract/videos.ts'
import { GenerationError, type ModelgateError, UsageError, asModelgateError } from '../errors.ts'
import type { SavedVideo, VideoDocument } from '../events/video.ts'
import type { JobProgress, JobRecord } from '../files/calls/job-record.ts'
import type { StoredJob } from '../files/calls/job-store.ts'
import { refusalHint } from '../gateway/gateway-errors.ts'
import { filteredOf, jobObject, modelInName, type JobReport } from '../gateway/videos/read-job.ts'
import { type JsonObject, isObject, objectOf, stringOf } from '../json.ts'
import { type NamedJob, keepRecord } from './jobs.ts'
import { MediaResults, someFailed } from './media-results.ts'
import { videoDifferences } from './mismatch.ts'
import { type Call, type Listener, type Outcome, type Redactor, settle } from './operation.ts'
import { videoCount } from './video-request.ts'
import { type NextCommand, leadTo } from '../files/next-command.ts'
import { extname, resolve } from 'node:path'
import type { Context } from '../context.ts'
import { type OutputPlan, maxPlannedNames } from '../files/output-plan.ts'
import { describeVideo, videoKind, keepDamaged, openMediaFile, unverifiedNote } from '../files/media-file.ts'
import { unlink } from 'node:fs/promises'
import { streamMedia } from '../files/stream-media.ts'
import { hintApplies, notFetched } from '../gateway/download/download.ts'
import { type VideoFetcher, createVideoFetcher, videoSources } from '../gateway/videos/fetch-video.ts'
import { isUnknownJob, type Job, lookUpJob } from '../gateway/videos/job-requests.ts'

/** What is known of a job, from the gateway or from the record, which may lack the gateway's own object. */
type KnownJob = Job & Pick<JobReport, 'state'> & Partial<JobReport>

type Judgement = Pick<SavePlan, 'strict' | 'acceptMismatch'>

/** An operation on one job: what is known of it, and what has been reported so far. */
export class VideoRun extends MediaResults<VideoDocument> {
  protected readonly noun = 'video'
  readonly #files = new Map<number, SavedVideo>()
  /** The job that the command is about, if it was started earlier. */
  readonly #named: NamedJob | undefined
  /** Undefined until its id is known. */
  job: KnownJob | undefined
  stored: StoredJob | undefined

  constructor(
    listener: Listener,
    command: VideoDocument['command'],
    named?: NamedJob,
    model = named?.stored?.record.model ?? '',
  ) {
    super(listener, command, model || null)
    this.#named = named
    this.stored = named?.stored
  }

  /** The gateway's own object is reported last (`raw`). */
  async settle(call: Call, work: () => Promise<ModelgateError | undefined>): Promise<Outcome<VideoDocument>> {
    const amend = (error: ModelgateError) => {
      const known = this.#withRecord(error)
      const billed = !call.hasSent() ? 'no' : this.job === undefined ? 'maybe' : 'yes'
      if (known.exit === 'bug') return known.amend({ billed })
      return known.exit === 'io' ? known.amend({ billed, ...known.facts }) : known
    }
    const outcome = await settle(call, work, () => this.document(), amend)
    this.#reportRaw()
    return outcome
  }

  #reportRaw(): void {
    const { job } = this
    if (job?.value !== undefined) this.listener.raw?.(job.text ?? JSON.stringify(job.value))
  }

  /** Says of a job or its videos that are gone where they were saved; of an unknown job the record is reported. */
  #withRecord(error: ModelgateError): ModelgateError {
    const files = this.#named?.stored?.record.files
    if (files === undefined) return error
    const isUnknown = isUnknownJob(error)
    if (isUnknown) this.fillFromRecord()
    const isGone = isUnknown || error.code === 'result_expired' || error.facts.httpStatus === 404
    if (!isGone || files.length === 0) return error
    return error.amend({ message: `${error.message} What was saved of it: ${files.join(', ')}.` })
  }

  /** Of a job of which the gateway has said nothing. */
  fillFromRecord(): void {
    if (this.job !== undefined || this.#named === undefined) return
    const { id, kind, stored } = this.#named
    const record = stored?.record
    const value = isObject(record?.result?.reply) ? record.result.reply : undefined
    const model = kind === 'operation' ? modelInName(id) : stringOf(jobObject(objectOf(value))['model'])
    this.job = {
      id,
      kind,
      model: model ?? null,
      state: videoStateOf(record?.state ?? '') ?? 'pending',
      status: record?.status ?? null,
      progress: record?.progress ?? null,
      expiresAt: record?.expires_at ?? null,
      requestId: record?.request_id ?? null,
      ...(value === undefined ? {} : { value }),
    }
  }

  /** Reports saved videos like the operation that saved them, including missing ones, with the same outcome. */
  reportSaved(videos: readonly SavedVideo[], judgement: Judgement): Outcome<VideoDocument> {
    this.fillFromRecord()
    for (const [at, video] of videos.entries()) this.saved(at + 1, video)
    const failure = this.shortfall(videos.length, judgement)
    this.#reportRaw()
    return { kind: 'ended', document: this.document()!, failure }
  }

  document(): VideoDocument | undefined {
    const { job, stored } = this
    if (job === undefined) return undefined
    const { id, kind, state, status = null, progress = null } = job
    const { createdAt, completedAt, expiresAt, requestId = null, value = null } = job
    const sent = jobObject(objectOf(value))
    // Relays count in milliseconds; the document counts whole seconds.
    const whole = (time: number | null | undefined) => (typeof time === 'number' ? Math.floor(time) : null)
    return {
      ...this.head,
      model: job.model ?? this.head.model,
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
      failures: this.failures,
      mismatches: this.mismatches,
      cost: null,
      request_id: requestId,
      warnings: this.warnings,
    }
  }

  get files(): SavedVideo[] {
    return [...this.#files].sort(([a], [b]) => a - b).map(([, file]) => file)
  }

  saved(index: number, file: SavedVideo): void {
    this.#files.set(index, file)
    this.listener.event({ type: 'video-save', id: this.job!.id, index, file })
    this.compare(index, file)
  }

  /** @param index from 1 */
  compare(index: number, file: SavedVideo): void {
    const echo = jobObject(objectOf(this.job?.value))
    this.addDifferences(index, videoDifferences(objectOf(this.stored?.record.request), file, echo))
  }

  failed(index: number, error: ModelgateError): void {
    this.listener.event({ type: 'video-fail', id: this.job!.id, failure: this.addFailure(index, error) })
  }

  /** Reports the videos that were withheld, or of which the gateway says nothing. @param count how many have arrived */
  shortfall(count: number, { acceptMismatch, strict }: Judgement): ModelgateError | undefined {
    const filtered = filteredOf(objectOf(this.job?.value))
    const known = count + filtered.count
    // Without a record nobody knows how many were asked for.
    const requested = this.stored === undefined ? known : videoCount(this.stored.record.request)
    const fewer = `The gateway sent only ${count} of ${requested} videos.`
    const isHeldBack = filtered.count > 0
    const reasons = filtered.reasons.length === 0 && isHeldBack ? [noReason] : filtered.reasons
    for (const [at, reason] of reasons.entries()) {
      this.failed(count + at + 1, new GenerationError('content_refused', reason))
    }
    for (let index = known + 1; index <= requested; index++) {
      this.failed(index, new GenerationError('nothing_generated', fewer))
    }
    if (isHeldBack || known < requested) {
      return someFailed(isHeldBack ? filtered.sentence(count) : fewer, [], { remoteId: this.job!.id })
    }
    const pathOf = (index: number) => this.#files.get(index)?.path
    const mismatch = acceptMismatch ? undefined : this.mismatchError(pathOf)
    const doubtful = this.files.filter(({ verified }) => !verified).length
    if (mismatch !== undefined || !strict || doubtful === 0) return mismatch
    const message = `${doubtful === 1 ? 'A video' : `${doubtful} videos`} could not be verified as complete.`
    return new GenerationError('damaged_media', message, { billed: 'yes' })
  }

  keep(change: Partial<JobProgress>): Promise<void> {
    return keepRecord(this.stored, change, this.warn)
  }
}

const noReason = 'The gateway does not say why it was held back.'

/** Relays send numbers as well. */
function wordOf(value: unknown): string | null {
  return stringOf(value) ?? (typeof value === 'number' ? String(value) : null)
}

/** Relays put the address of the result there. */
function sourceIn(sent: JsonObject): string | null {
  const source = stringOf(sent['remixed_from_video_id'])
  return source === undefined || source === '' || /^[a-z]+:/i.test(source) ? null : source
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

/**
 * The videos that earlier commands saved, and that still exist unchanged, by their numbers from 1. Before all were saved
 * only a name that is planned for it says which one a file is.
 */
async function savedBefore(cwd: string, record: JobRecord, output: OutputPlan, id: string, count: number) {
  const saved = new Map<number, SavedVideo>()
  const { result, files } = record
  for (let index = 1; index <= count; index++) {
    const nameOf = (path: string) => output.pathFor({ index, extension: extname(path).slice(1), id })
    const isPlanned = (path: string) => resolve(cwd, nameOf(path)) === path
    const before = result?.videos[index - 1]
    const path = result === undefined ? files.find(isPlanned) : before?.path
    const file = path === undefined ? undefined : await describeVideo({ cwd }, path)
    if (path === undefined || file === undefined || (before && before.sha256 !== file.sha256)) continue
    const name = isPlanned(path) ? nameOf(path) : path
    saved.set(index, { ...file, path: name, verified: before?.verified ?? file.verified })
  }
  return saved
}

/** The videos of a job if all were saved and still exist unchanged: the gateway may have deleted it. */
export async function findSavedVideos(
  { cwd }: Pick<Context, 'cwd'>,
  { id, stored }: NamedJob,
  output: OutputPlan,
  redactor: Redactor,
): Promise<readonly SavedVideo[] | undefined> {
  const record = stored?.record
  if (record?.result === undefined || output.toStandardOutput) return undefined
  const { length } = record.result.videos
  const saved = await savedBefore(cwd, record, output, redactor.text(lastSegment(id)), length)
  return saved.size === length ? [...saved.values()] : undefined
}

export interface SavePlan {
  readonly output: OutputPlan
  readonly force: boolean
  /** Also fetch videos that were saved earlier. */
  readonly refetch?: boolean
  /** Whether the target differs from the record, which then keeps the earlier files. */
  readonly isCopy?: boolean
  /** Fetch results from private addresses, too. */
  readonly allowPrivateUrls?: boolean
  /** Whether a video that could not be verified is a failure. */
  readonly strict?: boolean
  /** Whether a video that is not what was asked for is none. */
  readonly acceptMismatch?: boolean
  /** The command that resumes waiting for a job, or for several, for hints. */
  readonly resume: (id: string | readonly string[]) => NextCommand
}

/** Between two progress events of a download: one for every chunk would be too many. */
const progressMs = 500

/** Saves all videos at once, since their URLs expire soon. @throws ModelgateError if not a single one was saved */
export async function saveVideos(call: Call, run: VideoRun, plan: SavePlan, job: Job, completed: JobReport) {
  const { context, gateway, listener, redactor } = call
  const count = savedCount(run, completed)
  if (plan.output.toStandardOutput && count > 1) {
    throw new UsageError(`-o - takes one video, and the job has ${count}.`, {
      billed: 'yes',
      remoteId: completed.id,
      hint: 'Name a folder: -o DIR/',
    })
  }
  const id = redactor.text(lastSegment(completed.id))
  const record = plan.refetch ? undefined : run.stored?.record
  const before = record && (await savedBefore(context.cwd, record, plan.output, id, count))
  for (const [index, file] of before ?? []) run.saved(index, file)
  let index = 0
  let reported = { index, at: -Infinity }
  const fetcher = createVideoFetcher(gateway, completed, () => lookUpJob(gateway, job), {
    allowPrivate: plan.allowPrivateUrls === true,
    onProgress({ received, total }) {
      const at = context.clock.monotonic()
      if (reported.index === index && at - reported.at < progressMs && received !== total) return
      reported = { index, at }
      listener.event({ type: 'download-progress', id: completed.id, index, received, total })
    },
  })
  const errors: ModelgateError[] = []
  for (index = 1; index <= count; index++) {
    if (before?.has(index)) continue
    try {
      await saveVideo(call, run, plan, fetcher, id, index)
    } catch (thrown) {
      const known = asModelgateError(thrown, gateway.trace !== undefined)
      const error = withResume(known, completed.id, plan.resume(job.id))
      if (gateway.signal.aborted) throw error
      errors.push(error)
      if (count > 1) run.failed(index, error)
    }
  }
  run.job = fetcher.report
  const keepsRecord = plan.isCopy && run.stored?.record.result !== undefined
  if (run.files.length === count && !keepsRecord) {
    // Enough to report the result again without the gateway.
    const videos = run.files.map((file) => ({ ...file, path: resolve(context.cwd, file.path) }))
    await run.keep({ result: { reply: fetcher.report.value, videos } })
  }
  if (errors.length === count) {
    const rescued = errors.flatMap(({ facts }) => facts.rescued ?? [])
    throw errors[0]!.amend(rescued.length === 0 ? {} : { rescued })
  }
  const shortfall = run.shortfall(count, plan)
  if (errors.length === 0) return shortfall
  return someFailed(`${errors.length} of ${count} videos could not be saved.`, errors, {
    remoteId: completed.id,
    ...leadTo('To try again while they are kept: ', plan.resume(job.id)),
  })
}

/** How many of the videos to save: extra videos may have been billed, but no gateway may fill a folder. */
function savedCount(run: VideoRun, completed: JobReport): number {
  const total = Math.max(1, videoSources(completed).length)
  const requested = run.stored === undefined ? undefined : videoCount(run.stored.record.request)
  const most = requested === undefined ? maxPlannedNames : Math.max(requested, usualVideoSamples)
  const count = Math.min(total, most)
  if (count < total) run.warnOfCount(total, requested, count)
  return count
}

async function saveVideo(
  { context, gateway, rescueFolder }: Call,
  run: VideoRun,
  { output, force }: SavePlan,
  fetcher: VideoFetcher,
  id: string,
  index: number,
): Promise<void> {
  /** The name that was planned, and is another file's. */
  let taken: string | undefined
  const file = output.toStandardOutput
    ? streamMedia(context, videoKind)
    : openMediaFile(context, videoKind, {
        pathFor: (extension) => output.pathFor({ index, extension, id }),
        force,
        rescueFolder,
        renamed: (planned) => void (taken = planned),
      })
  try {
    const saved = await file.commit(await fetcher.fetch(index - 1, file))
    if (!saved.verified) run.warn(unverifiedNote('video', saved.path))
    if (saved.rescued !== undefined) throw saved.rescued
    if (output.toStandardOutput) return run.compare(index, saved)
    const kept = taken === undefined ? saved : await withoutCopy(context.cwd, saved, taken)
    if (taken !== undefined && kept === saved && !output.isAutomatic) {
      run.warn(`${taken} already exists; the video is in ${saved.path}.`)
    }
    run.saved(index, kept)
    const files = [...(run.stored?.record.files ?? []), resolve(context.cwd, kept.path)]
    await run.keep({ files })
  } catch (error) {
    if (!gateway.signal.aborted) throw await keepDamaged(file, error)
    await file.discard()
    throw gateway.signal.reason
  }
}

/** A wait that was killed after renaming the file has left the same video: do not save it twice. */
async function withoutCopy(cwd: string, saved: SavedVideo, planned: string): Promise<SavedVideo> {
  const existing = await describeVideo({ cwd }, planned)
  if (existing?.sha256 !== saved.sha256) return saved
  await unlink(resolve(cwd, saved.path))
  return { ...existing, verified: saved.verified }
}

/** The video exists and can be fetched as long as the gateway keeps it. */
function withResume(error: ModelgateError, id: string, resume: NextCommand): ModelgateError {
  const isFinal = error.code === 'result_expired' || error.code === 'result_in_cloud_storage'
  const expiry = error.facts.httpStatus === 404 ? ', if it has not expired meanwhile' : ''
  const hint = hintApplies(error) ? error.facts.hint : undefined
  const before = [hint, `The video has been made; to fetch it again${expiry}: `].filter(Boolean)
  const next = isFinal ? {} : leadTo(before.join(' '), resume)
  // A job has been paid for already, for example if its folder was removed.
  const known = error.exit === 'usage' ? error.amend({ exit: 'io' }) : error
  const told = isFinal ? known.amend({ phase: 'result', billed: 'yes' }) : notFetched(known, false)
  return told.amend({ remoteId: id, ...next })
}
