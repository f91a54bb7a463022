import { stat } from 'node:fs/promises'
import type { JobKind } from '../../events/video.ts'
import { stateText } from '../../contract/video-state.ts'
import type { VideoState } from '../../contract/videos.ts'
import { Interrupted, ModelgateError } from '../../errors.ts'
import type { JobRecord } from '../../files/jobs/job-record.ts'
import { describeVideoFile } from '../../files/video-info.ts'
import { isObject, objectOf, stringOf } from '../../gateway/json-access.ts'
import { jobObject } from '../../gateway/videos/job-fields.ts'
import { withFacts } from '../../gateway/videos/start-job.ts'
import { isUnknownJob } from '../../gateway/videos/look-up-job.ts'
import { modelInName } from '../../gateway/videos/read-job.ts'
import type { NamedJob } from './jobs.ts'
import type { KnownJob, VideoReport } from './video-report.ts'

/** What the record knows of a job, as a gateway would have told it; the state is of the last look-up that worked. */
export function knownJob(kind: JobKind, record: JobRecord): Omit<KnownJob, 'id' | 'state'> {
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

/**
 * What became of asking for a job that the gateway has forgotten, or whose videos have expired: the same error, with
 * what this machine knows. The last known state is reported, where nothing else is.
 */
export async function withKnowledge(
  error: unknown,
  { id, kind, stored }: NamedJob,
  report: VideoReport,
): Promise<unknown> {
  const record = stored?.record
  if (record === undefined || !(error instanceof ModelgateError) || error instanceof Interrupted) return error
  const isForgotten = isUnknownJob(error)
  const hasExpired = error.code === 'result_expired' || error.facts.httpStatus === 404
  const state = record.state === 'unknown' ? undefined : record.state
  const sentences = [
    ...(isForgotten && state !== undefined ? [lastState(state, record)] : []),
    ...(isForgotten || hasExpired ? await placesOf(record) : []),
  ]
  if (sentences.length === 0) return error
  if (isForgotten && state !== undefined && report.document() === undefined) {
    report.take({ ...knownJob(kind, record), id, state })
  }
  return withFacts(error, {}, [error.message, ...sentences].join(' '))
}

function lastState(state: VideoState, record: JobRecord): string {
  const { status, progress, checked_at, expires_at } = record
  const when = checked_at === null ? '' : `, at ${isoTime(checked_at)}`
  const until = expires_at === null ? '' : `; it was to be kept until ${isoTime(expires_at)}`
  return `When it was last heard of${when}, it was ${stateText({ state, status, progress })}${until}.`
}

/** Where the videos have been saved, as sentences. */
function placesOf({ files }: JobRecord): Promise<string[]> {
  return Promise.all(
    files.map(async (path) => {
      const isThere = (await stat(path).catch(() => undefined))?.isFile() === true
      if (!isThere) return `A video of it was saved, and is no longer there: ${path}.`
      const isWhole = (await describeVideoFile({ cwd: '' }, path)) !== undefined
      return `A video of it was saved, and is still there${isWhole ? '' : ', but damaged by now'}: ${path}.`
    }),
  )
}

/** A gateway may name a time that no calendar has. */
function isoTime(seconds: number): string {
  const date = new Date(seconds * 1000)
  return Number.isNaN(date.getTime()) ? String(seconds) : date.toISOString().replace('.000Z', 'Z')
}
