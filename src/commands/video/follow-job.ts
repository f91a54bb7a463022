import { GenerationError, type ModelgateError } from '../../errors.ts'
import type { JobReport } from '../../gateway/videos/job-fields.ts'
import { resultPlaces } from '../../gateway/videos/result-places.ts'
import { waitForJob } from '../../gateway/videos/wait-for-job.ts'
import { resumeCommand } from '../../output/resume-command.ts'
import { tellFewer } from './missing-videos.ts'
import { resumeFlags } from './jobs.ts'
import { changeOf, keepRecord, type JobSession, type JobWait } from './job-session.ts'
import { saveVideos } from './save-videos.ts'
import { hasEnded } from '../../contract/video-state.ts'
import type { VideoState } from '../../contract/videos.ts'

/**
 * Waits for a job and saves its videos.
 * @returns the error of a command of which some videos are missing
 * @throws ModelgateError; each knows the job's id and, where the job goes on, the command that takes the wait up again
 */
export async function followJob(session: JobSession, pursuit: JobWait): Promise<ModelgateError | undefined> {
  const { context, options, settings, gateway, report } = session
  const { job, stored } = pursuit
  const resume = resumeCommand(context, job.id, resumeFlags(options))
  const sinceStart = elapsedBefore(session, pursuit)
  const timeLeft = createTimeLeft()
  let writing = Promise.resolve()
  const ended = await waitForJob(gateway, job, {
    firstWaitS: settings.pollInterval.value,
    deadlineMs: pursuit.deadlineMs,
    first: pursuit.first,
    isUnverified: stored === undefined && pursuit.first === undefined,
    resumeHint: `The job goes on; to wait for it again: ${resume}`,
    onReport(found, { elapsedMs }) {
      const { state, status, progress } = found
      report.take(found)
      const elapsedS = sinceStart === undefined ? elapsedMs / 1000 : sinceStart + elapsedMs / 1000
      report.output.event({
        type: 'job-progress',
        id: job.id,
        state,
        status,
        progress,
        elapsed_s: Math.round(elapsedS * 10) / 10,
        remaining_s: timeLeft({ state, progress, elapsedMs }),
      })
      // One after the other, and without keeping the next look-up waiting.
      writing = writing.then(() => keepRecord(stored, changeOf(found), report))
    },
    onFailedLookUp: ({ attempt, waitS, httpStatus, reason }) =>
      report.output.event({
        type: 'poll-fail',
        id: job.id,
        attempt,
        wait_s: waitS,
        http_status: httpStatus,
        reason,
      }),
  }).finally(() => writing)
  if (ended.state === 'failed') throw failed(ended)
  const inTime = { ...gateway, limits: { ...gateway.limits, deadline: pursuit.deadlineMs } }
  const missing = await saveVideos({ ...session, gateway: inTime }, pursuit, ended, resume)
  return missing ?? tellFewer(session, pursuit, ended, resultPlaces(ended).length)
}

/** The error that a failed job amounts to (exit 9). */
export function failed({ id, failure, requestId }: JobReport): GenerationError {
  const { code, message } = failure ?? { code: null, message: 'no reason given' }
  const reason = code === null || message.includes(code) ? message : `${message} (${code})`
  return new GenerationError('job_failed', `The job ${id} failed: ${reason}`, {
    remoteId: id,
    ...(requestId === null ? {} : { requestId }),
  })
}

/** Seconds that the job had run when the wait began; undefined when nobody knows when it was started. */
function elapsedBefore({ context }: JobSession, { stored, first }: JobWait): number | undefined {
  const started = stored?.record.created_at ?? first?.createdAt ?? undefined
  return started === undefined ? undefined : Math.max(0, context.clock.now() / 1000 - started)
}

/** What one look-up found. */
interface Sight {
  readonly state: VideoState
  /** 0 to 100; null when the gateway does not say. */
  readonly progress: number | null
  /** Since the wait began. */
  readonly elapsedMs: number
}

/**
 * The time that a job has left if it goes on as it did since it was first seen under way: its time in a queue says
 * nothing about its pace, and of the time before the first look nobody knows how much of it was queue.
 * @returns takes what each look-up found, and gives whole seconds; null while the pace is not known
 */
export function createTimeLeft(): (sight: Sight) => number | null {
  let first: { readonly done: number; readonly atMs: number } | undefined
  return ({ state, progress, elapsedMs }) => {
    const done = progress ?? 0
    if (hasEnded(state) || done >= 100) return 0
    if (first === undefined && (state === 'in_progress' || done > 0)) first = { done, atMs: elapsedMs }
    if (first === undefined || done <= first.done || elapsedMs <= first.atMs) return null
    const msForEach = (elapsedMs - first.atMs) / (done - first.done)
    return Math.round((msForEach * (100 - done)) / 1000)
  }
}
