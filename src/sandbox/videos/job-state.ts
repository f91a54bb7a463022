import type { VideoState } from '../../contract/video-state.ts'
import { videoLifetimeMinutes } from '../../contract/videos.ts'
import type { JobPacing, Reply } from '../http/reply.ts'
import { type VideoJob, sizeName, sourceVideoId } from './video-job.ts'

/** The state of a job at a given time. */
export interface JobState {
  readonly state: VideoState
  /** 0 to 100. */
  readonly progress: number
  /** Milliseconds since 1970; undefined before, and for a job that failed. */
  readonly completedAt?: number
  readonly expiresAt?: number
}

/** The states of the scenario `backwards`. */
const backAndForth: readonly JobState[] = [
  { state: 'in_progress', progress: 60 },
  { state: 'in_progress', progress: 20 },
  { state: 'pending', progress: 0 },
  { state: 'in_progress', progress: 90 },
  { state: 'in_progress', progress: 75 },
]

/** The state of a job depends only on the clock, so that all processes agree. */
export function jobStateAt(job: VideoJob, now: number): JobState {
  const { createdAt, pendingMs, runningMs, scenario } = job
  const ran = now - createdAt - pendingMs
  if (ran < 0) return { state: 'pending', progress: 0 }
  const share = runningMs === 0 ? 1 : ran / runningMs
  if (scenario === 'stuck' || share < 1) {
    if (scenario === 'backwards') return backAndForth[Math.floor(share * backAndForth.length)]!
    const most = scenario === 'stuck' ? 42 : 99
    return { state: 'in_progress', progress: Math.min(most, Math.floor(share * 100)) }
  }
  if (isFailure(job)) return { state: 'failed', progress: 100 }
  const completedAt = createdAt + pendingMs + runningMs
  const lifetime = scenario === 'expired' ? 0 : videoLifetimeMinutes * 60_000
  return { state: 'completed', progress: 100, completedAt, expiresAt: completedAt + lifetime }
}

/** When a job can be deleted, in milliseconds since 1970: a day after its result expired. */
export function deletableAt({ createdAt, pendingMs, runningMs }: VideoJob): number {
  return createdAt + pendingMs + runningMs + (videoLifetimeMinutes + 24 * 60) * 60_000
}

/** When to poll a running job again, in the headers that the clients of either service read. */
export function pollHint({ kind }: VideoJob, { pollMs }: JobPacing): Reply['headers'] {
  return { [kind === 'video' ? 'openai-poll-after-ms' : 'retry-after-ms']: String(pollMs) }
}

/** The status and the headers for the look-up of a job. */
export function lookUpFacts(job: VideoJob, { state }: JobState, pacing: JobPacing): Partial<Reply> {
  if (state !== 'pending' && state !== 'in_progress') return {}
  return { headers: pollHint(job, pacing), status: job.scenario === 'accepted' ? 202 : 200 }
}

/** An operation reports withheld videos in its response; a Video only has its error field. */
function isFailure({ scenario, kind }: VideoJob): boolean {
  return scenario === 'failure' || scenario === 'error' || (scenario === 'filtered' && kind === 'video')
}

/** Names of the states on other gateways (quirk 18). */
const otherNames = {
  pending: 'NOT_START',
  in_progress: 'Processing',
  completed: 'SUCCESS',
  failed: 'FAILURE',
}

/**
 * The Video object. What is not set yet is left out: the specification calls no field nullable.
 * @param saysQueued whether what is pending is `queued`: the poll helpers of the official clients know no other word
 */
export function videoObject(job: VideoJob, now: number, saysQueued = false): object {
  const { id, model, prompt, films, scenario, remixedFrom } = job
  const { state, progress, completedAt, expiresAt } = jobStateAt(job, now)
  const film = films[0]!
  // The built-in video never expires: its result is always available for another hour.
  const lifetimeEnd = id === sourceVideoId ? now + videoLifetimeMinutes * 60_000 : expiresAt
  const word = saysQueued && state === 'pending' ? 'queued' : state
  const isFinal = state === 'completed' || state === 'failed'
  return {
    id,
    object: 'video',
    created_at: unixSeconds(job.createdAt),
    ...(completedAt !== undefined && { completed_at: unixSeconds(completedAt) }),
    model,
    status: scenario === 'unknown' && state === 'in_progress' ? 'warming_up' : word,
    progress,
    ...(lifetimeEnd !== undefined && { expires_at: unixSeconds(lifetimeEnd) }),
    prompt,
    seconds: String(film.seconds),
    size: sizeName(film),
    ...(remixedFrom !== null && { remixed_from_video_id: remixedFrom }),
    ...(state === 'failed' && { error: scenario === 'filtered' ? withheldError : failedError }),
    ...(scenario === 'spelling' && {
      status: otherNames[state],
      progress: `${progress}%`,
      seconds: film.seconds,
      created_at: job.createdAt,
      // Also set while running, to the time of the last change.
      completed_at: isFinal ? completedAt : now,
    }),
  }
}

const failedError = {
  code: 'video_generation_failed',
  message: '[sandbox] The video could not be generated.',
  type: 'server_error',
}
const withheldError = {
  code: 'moderation_blocked',
  message: '[sandbox] The video was withheld by the safety system.',
  type: 'video_generation_user_error',
}

function unixSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000)
}
