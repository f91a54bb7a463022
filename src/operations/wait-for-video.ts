import { leadTo } from '../files/next-command.ts'
import { type VideoState, isFinal } from '../contract/video-state.ts'
import type { ModelgateError } from '../errors.ts'
import type { VideoDocument } from '../events/video.ts'
import type { JobReport } from '../gateway/videos/job-fields.ts'
import type { Job } from '../gateway/videos/look-up-job.ts'
import { videoSources } from '../gateway/videos/fetch-video.ts'
import { waitForJob } from '../gateway/videos/wait-for-job.ts'
import { isNew, reportLookUps, type NamedJob } from './jobs.ts'
import { withRecordedFacts } from './look-up-video.ts'
import type { Call, Outcome } from './operation.ts'
import { saveVideos, type SavePlan } from './save-videos.ts'
import {
  beginRun,
  changeOf,
  jobFailed,
  checkCount,
  doubtful,
  keepJob,
  settleRun,
  type Judgement,
  type VideoRun,
} from './video-run.ts'

export interface WaitPlan extends SavePlan, Judgement {
  /** The first interval between two look-ups, in seconds; by default the usual one. */
  readonly pollIntervalS: number | undefined
  /** When the wait ends, on the monotonic clock, in milliseconds; undefined when it does not. */
  readonly deadlineMs: number | undefined
  /** Whether an error is to say that the job is paid for; by default if this call has started it. */
  readonly isOwn?: boolean
  /** Runs the saving of the videos when it is its turn, if several jobs are waited for; by default at once. */
  readonly takeTurn?: <Result>(work: () => Promise<Result>) => Promise<Result>
}

/**
 * Waits for a job that was started earlier, and saves its videos.
 * @param first a recent report, so that it is not looked up immediately
 */
export async function waitForVideo(
  call: Call,
  command: VideoDocument['command'],
  named: NamedJob,
  plan: WaitPlan,
  first?: JobReport,
): Promise<Outcome<VideoDocument>> {
  const { id, kind, stored } = named
  const run = beginRun(call.listener, { command, model: stored?.record.model ?? '', stored })
  return settleRun(
    call,
    run,
    () => waitAndSave(call, run, plan, { id, kind }, first),
    (error) => withRecordedFacts(error, named, run),
  )
}

/**
 * Waits for a job and saves its videos.
 * @param first a recent report, so that it is not looked up immediately
 * @returns the error for missing videos
 * @throws ModelgateError with the job's id and, if the job is still running, the command that resumes the wait
 */
export async function waitAndSave(
  call: Call,
  run: VideoRun,
  plan: WaitPlan,
  job: Job,
  first?: JobReport,
): Promise<ModelgateError | undefined> {
  const { context } = call
  const { stored } = run
  const { deadlineMs } = plan
  // --timeout limits the whole wait here, not each request, and is counted from the start of the command.
  const gateway = { ...call.gateway, limits: { ...call.gateway.limits, total: undefined } }
  const reports = reportLookUps(call, job.id, stored?.record.created_at ?? first?.createdAt ?? undefined)
  const timeLeft = createTimeLeft()
  let writing = Promise.resolve()
  const ended = await waitForJob(gateway, job, {
    firstWaitS: plan.pollIntervalS,
    deadlineMs,
    first,
    isNew: isNew(stored, context),
    isUnverified: stored === undefined && first === undefined,
    isOwn: plan.isOwn ?? call.hasSent(),
    goOn: leadTo('To continue waiting: ', plan.resume(job.id)),
    onReport(found, { elapsedMs }) {
      run.job = found
      reports.progress(found, elapsedMs, timeLeft({ ...found, elapsedMs }))
      // In order, and without delaying the next look-up.
      writing = writing.then(() => keepJob(run, changeOf(found)))
    },
    onFailedLookUp: reports.onFailedLookUp,
  }).finally(() => writing)
  if (ended.state === 'failed') throw jobFailed(ended)
  const inTime = { ...gateway, limits: { ...gateway.limits, deadline: deadlineMs } }
  const { takeTurn = (work) => work() } = plan
  const missing = await takeTurn(() => saveVideos({ ...call, gateway: inTime }, run, plan, job, ended))
  const fewer = checkCount(run, ended, videoSources(ended).length)
  return missing ?? fewer ?? doubtful(run, plan)
}

/** The result of one look-up. */
interface LookUp {
  readonly state: VideoState
  /** 0 to 100; null when the gateway does not say. */
  readonly progress: number | null
  /** Since the wait began. */
  readonly elapsedMs: number
}

/**
 * Estimates the remaining time of a job from its pace since it was first seen running: time in a queue says nothing
 * about the pace, and it is unknown how much time before the first look-up was spent in a queue.
 * @returns a function that takes the result of each look-up and returns whole seconds; null while the pace is unknown
 */
function createTimeLeft(): (found: LookUp) => number | null {
  let first: { readonly done: number; readonly atMs: number } | undefined
  return ({ state, progress, elapsedMs }) => {
    const done = progress ?? 0
    if (isFinal(state) || done >= 100) return 0
    if (first === undefined && (state === 'in_progress' || done > 0)) first = { done, atMs: elapsedMs }
    if (first === undefined || done <= first.done || elapsedMs <= first.atMs) return null
    const msForEach = (elapsedMs - first.atMs) / (done - first.done)
    return Math.round((msForEach * (100 - done)) / 1000)
  }
}
