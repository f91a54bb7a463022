import { leadTo, type NextCommand } from '../files/next-command.ts'
import { videoStateOf, type VideoState } from '../contract/video-state.ts'
import { stat } from 'node:fs/promises'
import { formatState, isoTime } from '../events/format-job.ts'

import { Interrupted, ModelgateError } from '../errors.ts'
import type { VideoDocument } from '../events/video.ts'
import type { JobRecord } from '../files/calls/job-record.ts'
import { describeVideoFile } from '../files/video-info.ts'
import { isUnknownJob, lookUpJob, lookUpOnce } from '../gateway/videos/look-up-job.ts'
import { isNew, type NamedJob } from './jobs.ts'
import type { Call, Outcome } from './operation.ts'
import {
  beginRun,
  changeOf,
  jobFailed,
  keepJob,
  recordedJob,
  reportFailure,
  settleRun,
  warn,
  type VideoRun,
} from './video-run.ts'

export interface LookUpPlan {
  /** Whether a job that failed or is still running makes the command fail. */
  readonly reportsState: boolean
  /** The command that waits for a job, for hints. */
  readonly resume: (id: string) => NextCommand
}

/** Looks up a job, once. */
export async function lookUpVideo(
  call: Call,
  command: VideoDocument['command'],
  named: NamedJob,
  { reportsState, resume }: LookUpPlan,
): Promise<Outcome<VideoDocument>> {
  const { id, kind, stored } = named
  const run = beginRun(call.listener, { command, model: stored?.record.model ?? '', stored })
  const work = async () => {
    const found = await lookUpOnce(call.gateway, () => lookUpJob(call.gateway, { id, kind }), {
      isNew: isNew(stored, call.context),
    })
    run.job = found
    await keepJob(run, changeOf(found))
    if (found.note !== undefined) warn(run, found.note)
    if (found.state === 'failed') {
      const failure = jobFailed(found)
      reportFailure(run, 1, failure)
      return reportsState ? failure : undefined
    }
    if (found.state === 'completed' || !reportsState) return undefined
    return new ModelgateError('running', 'still_running', `The job is ${formatState(found)}.`, {
      phase: 'wait',
      remoteId: id,
      ...leadTo('To wait for it: ', resume(id)),
    })
  }
  return settleRun(call, run, work, (error) => withRecordedFacts(error, named, run))
}

/**
 * The error for a job that the gateway no longer has, or whose videos have expired, with what this machine knows about
 * it. The last known state is reported if there is nothing else.
 */
export async function withRecordedFacts(
  error: ModelgateError,
  { id, kind, stored }: NamedJob,
  run: VideoRun,
): Promise<ModelgateError> {
  const record = stored?.record
  if (record === undefined || error instanceof Interrupted) return error
  const isUnknown = isUnknownJob(error)
  const hasExpired = error.code === 'result_expired' || error.facts.httpStatus === 404
  const state = videoStateOf(record.state)
  const sentences = [
    ...(isUnknown && state !== undefined ? [lastState(state, record)] : []),
    ...(isUnknown || hasExpired ? await savedFilesOf(record) : []),
  ]
  if (sentences.length === 0) return error
  if (isUnknown && state !== undefined) run.job ??= { ...recordedJob(kind, record), id, state }
  return error.amend({ message: [error.message, ...sentences].join(' ') })
}

function lastState(state: VideoState, record: JobRecord): string {
  const { status, progress, checked_at, expires_at } = record
  const when = checked_at === null ? '' : `, at ${isoTime(checked_at)}`
  const until = expires_at === null ? '' : `; it was to be kept until ${isoTime(expires_at)}`
  return `When it was last looked up${when}, it was ${formatState({ state, status, progress })}${until}.`
}

/** Sentences that say where the videos were saved. */
function savedFilesOf({ files }: JobRecord): Promise<string[]> {
  return Promise.all(
    files.map(async (path) => {
      const isThere = (await stat(path).catch(() => undefined))?.isFile() === true
      if (!isThere) return `A video of it was saved, and is no longer there: ${path}.`
      const isWhole = (await describeVideoFile({ cwd: '' }, path)) !== undefined
      return `A video of it was saved, and is still there${isWhole ? '' : ', but is damaged'}: ${path}.`
    }),
  )
}
