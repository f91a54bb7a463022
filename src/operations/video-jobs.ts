import { isFinal, lastSegment, videoStateOf } from '../contract/videos.ts'
import { ModelgateError, UsageError } from '../errors.ts'
import type { OutputEvent } from '../events/documents.ts'
import { formatState } from '../events/format-job.ts'
import { outputVersion } from '../events/version.ts'
import type { AwaitedVideo, SavedVideo, VideoDocument, VideosDocument } from '../events/video.ts'
import { leadTo } from '../files/next-command.ts'
import type { JobReport } from '../gateway/videos/read-job.ts'
import { lookUpJob, lookUpOnce, startJob, type Job } from '../gateway/videos/job-requests.ts'
import { waitForJob } from '../gateway/videos/wait-for-job.ts'
import {
  changeOf,
  createJob,
  isNew,
  waitOptions,
  withoutTotal,
  type NamedJob,
  type RecordPlan,
  type WaitLimits,
} from './jobs.ts'
import { commonExit, type Call, type Listener, type Outcome } from './operation.ts'
import { videoGatewayRequest, type VideoRequest } from './video-request.ts'
import { VideoRun, jobFailed, saveVideos, type SavePlan } from './video-run.ts'

export interface WaitPlan extends SavePlan, WaitLimits {
  /** Given where several jobs are waited for, of which only some may save their videos at the same time. */
  readonly takeTurn?: ReturnType<typeof createTurns>
}

export interface StartPlan extends WaitPlan, RecordPlan {
  /** Whether the job is waited for and its videos are saved. */
  readonly waits: boolean
  readonly source?: NamedJob | undefined
  /** Whether the source is looked up before it is paid for. */
  readonly checksSource: boolean
}

/** Starts a job, and with `waits` saves its videos. */
export async function startVideo(call: Call, request: VideoRequest, plan: StartPlan) {
  const { gateway, listener } = call
  const { kind } = request
  const run = new VideoRun(listener, request.command, undefined, request.model)
  return run.settle(call, async () => {
    for (const message of request.warnings) run.warn(message)
    const wire = videoGatewayRequest(gateway, request, plan.source)
    if (plan.source !== undefined && plan.checksSource) await checkSource(call, plan.source, plan)
    const asked = { ...request, idempotencyKey: wire.idempotencyKey }
    const started = await createJob(call, plan, asked, run.warn, async (creation) => {
      run.stored = creation.stored
      const report = await startJob(gateway, { ...wire, onReplyBytes: creation.onReplyBytes }, kind)
      run.job = report
      await creation.created(report.id, changeOf(report))
      return report
    })
    if (started.isCut) {
      run.warn("The gateway's reply was cut short after the id of the job; the rest of it is missing.")
    }
    await listener.flush()
    if (plan.waits) return waitAndSave(call, run, plan, started, started)
    return started.state === 'failed' ? jobFailed(started) : undefined
  })
}

/** A remix needs a completed video: look it up before paying. @throws UsageError with the state of the source */
async function checkSource({ gateway }: Call, source: NamedJob, { resume }: Pick<StartPlan, 'resume'>) {
  const { id } = source
  const found = await lookUpJob(gateway, source)
  if (found.state === 'completed') return
  throw new UsageError(`The video ${id} is ${formatState(found)}; only a completed video can be remixed.`, {
    code: 'not_ready',
    remoteId: id,
    ...(found.state === 'failed'
      ? { hint: 'Choose another one; --no-check sends it anyway.' }
      : leadTo('Wait for it first: ', resume(id), ' (--no-check sends it anyway.)')),
  })
}

export interface AwaitedJob {
  readonly named: NamedJob
  readonly plan: WaitPlan
  /** Its videos if earlier commands have saved all of them: then its gateway is not asked. */
  readonly saved?: readonly SavedVideo[] | undefined
  /** On its gateway; left out for one whose videos are saved. */
  readonly call?: Call | undefined
}

/** Waits for a job that was started earlier, and saves its videos. @param first a report of a moment ago */
export function waitForVideo(
  listener: Listener,
  command: VideoDocument['command'],
  job: AwaitedJob,
  first?: JobReport,
): Promise<Outcome<VideoDocument>> {
  return settleJob(new VideoRun(listener, command, job.named), job, first)
}

async function settleJob(
  run: VideoRun,
  { named, plan, saved, call }: AwaitedJob,
  first?: JobReport,
): Promise<Outcome<VideoDocument>> {
  if (saved !== undefined) return run.reportSaved(saved, plan)
  // This wait is not what has paid for the job, whatever else the call has sent.
  const waiting = { ...call!, hasSent: () => false }
  return await run.settle(call!, () => waitAndSave(waiting, run, plan, named, first))
}

/** @returns the error for missing videos @throws ModelgateError, for one that is still running with the command to resume */
async function waitAndSave(
  call: Call,
  run: VideoRun,
  plan: WaitPlan,
  job: Job,
  first?: JobReport,
): Promise<ModelgateError | undefined> {
  const { stored } = run
  // --timeout is counted from the start of the command.
  const gateway = withoutTotal(call.gateway)
  const timeLeft = createTimeLeft()
  let writing = Promise.resolve()
  const onReport = (found: JobReport, elapsedMs: number) => {
    run.job = found
    // In order, and without delaying the next look-up.
    writing = writing.then(() => run.keep(changeOf(found)))
    return timeLeft(found, elapsedMs)
  }
  const startedAt = stored?.record.created_at ?? first?.createdAt ?? undefined
  const options = waitOptions(call, plan, stored, () => job.id, onReport, startedAt)
  const ended = await waitForJob(gateway, job, {
    ...options,
    first,
    isUnverified: stored === undefined && first === undefined,
    goOn: leadTo('To continue waiting: ', plan.resume(job.id)),
  }).finally(() => writing)
  if (ended.state === 'failed') throw jobFailed(ended)
  const inTime = { ...gateway, limits: { ...gateway.limits, deadline: plan.deadlineMs } }
  const save = () => saveVideos({ ...call, gateway: inTime }, run, plan, job, ended)
  return await (plan.takeTurn?.(save) ?? save())
}

/**
 * Takes each look-up, and estimates the seconds that are left from the pace since the job was first seen running: time in
 * a queue says nothing of it, and what passed before the first look-up is unknown. Null while the pace is unknown.
 */
function createTimeLeft() {
  let first: { readonly done: number; readonly atMs: number } | undefined
  return ({ state, progress }: JobReport, elapsedMs: number): number | null => {
    const done = progress ?? 0
    if (isFinal(state) || done >= 100) return 0
    if (first === undefined && (state === 'in_progress' || done > 0)) first = { done, atMs: elapsedMs }
    if (first === undefined || done <= first.done || elapsedMs <= first.atMs) return null
    const msForEach = (elapsedMs - first.atMs) / (done - first.done)
    return Math.round((msForEach * (100 - done)) / 1000)
  }
}

/** @param reportsState whether a job that failed or is still running makes the command fail */
export async function lookUpVideo(
  call: Call,
  named: NamedJob,
  { reportsState, resume }: Pick<SavePlan, 'resume'> & { readonly reportsState: boolean },
): Promise<Outcome<VideoDocument>> {
  const { id, stored } = named
  const run = new VideoRun(call.listener, 'video status', named)
  const work = async () => {
    const found = await lookUpOnce(call.gateway, () => lookUpJob(call.gateway, named), {
      isNew: isNew(stored, call.context),
    })
    run.job = found
    await run.keep(changeOf(found))
    if (found.note !== undefined) run.warn(found.note)
    if (found.state === 'failed') {
      const failure = jobFailed(found)
      run.failed(1, failure)
      return reportsState ? failure : undefined
    }
    if (found.state === 'completed' || !reportsState) return undefined
    return new ModelgateError('running', 'still_running', `The job is ${formatState(found)}.`, {
      phase: 'wait',
      remoteId: id,
      ...leadTo('To wait for it: ', resume(id)),
    })
  }
  return run.settle(call, work)
}

const savingAtOnce = 4

/** Saves the videos of each job as it completes. */
export async function waitForVideos(
  { listener, signal }: { readonly listener: Listener; readonly signal: AbortSignal },
  jobs: readonly AwaitedJob[],
): Promise<Outcome<VideosDocument>> {
  const warnings: string[] = []
  listener.event({ type: 'start', version: outputVersion, command: 'wait', model: null })
  const takeTurn = createTurns(savingAtOnce)
  const waitFor = async ({ plan, ...job }: AwaitedJob) => {
    const { named } = job
    const { id } = named
    const event = (one: OutputEvent) => {
      if (one.type === 'start') return
      if (one.type !== 'warning-add') return listener.event(one)
      const message = `${lastSegment(id)}: ${one.message}`
      warnings.push(message)
      listener.event({ ...one, message })
    }
    const run = new VideoRun({ ...listener, event }, 'wait', named)
    const outcome = await settleJob(run, { ...job, plan: { ...plan, takeTurn } })
    const error = outcome.kind === 'failed' ? outcome.error : outcome.failure
    const reason = error === undefined ? null : { code: error.code, message: error.message }
    if (reason !== null && !signal.aborted && error?.exit !== 'running') {
      listener.event({ type: 'job-fail', id, ...reason })
    }
    const seen = run.job?.state
    run.fillFromRecord()
    const { version: _, cost: __, command: ___, ...known } = run.document()!
    const state = seen ?? videoStateOf(named.stored?.record.state ?? '') ?? 'unknown'
    const video: AwaitedVideo = { ...known, state, error: reason }
    return { error, id, video }
  }
  const outcomes = await Promise.all(jobs.map(waitFor))
  const videos = outcomes.map(({ video }) => video)
  const document = { version: outputVersion, command: 'wait', videos, warnings } as const
  // After a signal, whatever has not arrived; else what is still running.
  const left = outcomes.filter(({ error }) => error && (signal.aborted || error.exit === 'running'))
  const ids = left.map(({ id }) => id)
  const goOn = ids.length === 0 ? {} : leadTo('To continue waiting: ', jobs[0]!.plan.resume(ids))
  if (signal.aborted) {
    const reason = signal.reason as ModelgateError
    return { kind: 'failed', document, error: reason.amend({ phase: 'wait', billed: 'yes', ...goOn }) }
  }
  const errors = outcomes.flatMap(({ error }) => error ?? [])
  return { kind: 'ended', document, failure: failureOf(errors, jobs.length)?.amend(goOn) }
}

/** Lets at most this many work at the same time; each of the others waits for one of them. */
function createTurns(most: number) {
  const last: Promise<unknown>[] = []
  let taken = 0
  return <Result>(work: () => Promise<Result>): Promise<Result> => {
    const lane = taken++ % most
    const turn = (last[lane] ?? Promise.resolve()).then(work, work)
    last[lane] = turn
    return turn
  }
}

/** 11 if any job is still running, else the exit code that all have in common, else 12. */
function failureOf(errors: readonly ModelgateError[], count: number): ModelgateError | undefined {
  if (errors.length === 0) return undefined
  const running = errors.filter(({ exit }) => exit === 'running').length
  const failed = errors.length - running
  const billed = (['yes', 'maybe'] as const).find((word) => errors.some(({ facts }) => facts.billed === word))
  const facts = { phase: 'wait', billed: billed ?? 'no' } as const
  const exit = commonExit(errors, count)
  if (running === 0)
    return new ModelgateError(exit, 'some_failed', `${failed} of ${count} jobs failed.`, facts)
  const also = failed === 0 ? '' : `, and ${failed} failed`
  const message = `${running} of ${count} jobs ${running === 1 ? 'is' : 'are'} still running${also}.`
  return new ModelgateError(exit, 'still_running', message, facts)
}
