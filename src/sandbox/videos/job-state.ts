import { videoLifetimeMinutes, type VideoState } from '../../contract/videos.ts'
import type { LatencyProfile } from '../http/reply.ts'
import { type VideoJob, sizeName, sourceVideoId } from './video-job.ts'

/** How long a job waits and runs, and how soon it should be asked for again; milliseconds. */
export interface Pacing {
  readonly pendingMs: number
  readonly runningMs: number
  readonly pollMs: number
}

/** Steps of a job, where the profile says how long one takes. */
const steps = 10

/** Four seconds in all, or half a second where nothing is to take time: the states are passed through all the same. */
export function pacingOf(latency: LatencyProfile): Pacing {
  if (latency === 'natural') return { pendingMs: 700, runningMs: 3300, pollMs: 1000 }
  if (latency === 'none') return { pendingMs: 100, runningMs: 400, pollMs: 100 }
  const stepMs = Math.round(latency)
  return { pendingMs: stepMs, runningMs: stepMs * steps, pollMs: Math.max(1, stepMs) }
}

/** Where a job stands at a moment. */
export interface JobState {
  readonly state: VideoState
  /** 0 to 100. */
  readonly progress: number
  /** Milliseconds since 1970; undefined before, and for a job that failed. */
  readonly completedAt?: number
  readonly expiresAt?: number
}

/** The scenario `backwards`, from its start to its end. */
const backAndForth: readonly JobState[] = [
  { state: 'in_progress', progress: 60 },
  { state: 'in_progress', progress: 20 },
  { state: 'pending', progress: 0 },
  { state: 'in_progress', progress: 90 },
  { state: 'in_progress', progress: 75 },
]

/** The state of a job follows from the clock alone, so that every process reports the same. */
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

/** Milliseconds since 1970 after which nobody will ask for a job any more: a day after its result expired. */
export function forgetAt({ createdAt, pendingMs, runningMs }: VideoJob): number {
  return createdAt + pendingMs + runningMs + (videoLifetimeMinutes + 24 * 60) * 60_000
}

/** An operation reports withheld videos in its response, a Video has only its error for it. */
function isFailure({ scenario, kind }: VideoJob): boolean {
  return scenario === 'failure' || scenario === 'error' || (scenario === 'filtered' && kind === 'video')
}

/** Words of other gateways for the states (quirk 18). */
const otherWords = {
  pending: 'NOT_START',
  in_progress: 'Processing',
  completed: 'SUCCESS',
  failed: 'FAILURE',
}

/** The Video object: every field of the specification, times and error null until they are set. */
export function videoObject(job: VideoJob, now: number): object {
  const { id, model, prompt, films, scenario, remixedFrom } = job
  const { state, progress, completedAt, expiresAt } = jobStateAt(job, now)
  const film = films[0]!
  const isOver = state === 'completed' || state === 'failed'
  return {
    id,
    object: 'video',
    created_at: unixSeconds(job.createdAt),
    completed_at: completedAt === undefined ? null : unixSeconds(completedAt),
    model,
    status: scenario === 'unknown' && state === 'in_progress' ? 'warming_up' : state,
    progress,
    expires_at: expiryOf(id, expiresAt, now),
    prompt,
    seconds: String(film.seconds),
    size: sizeName(film),
    remixed_from_video_id: remixedFrom,
    error: state === 'failed' ? errorOf(job) : null,
    ...(scenario === 'spelling' && {
      status: otherWords[state],
      progress: `${progress}%`,
      seconds: film.seconds,
      created_at: job.createdAt,
      // Set while running as well: there it is the time of the last change.
      completed_at: isOver ? completedAt : now,
    }),
  }
}

/** The built-in video never expires: its result can be had for another hour at any time. */
function expiryOf(id: string, expiresAt: number | undefined, now: number): number | null {
  if (id === sourceVideoId) return unixSeconds(now) + videoLifetimeMinutes * 60
  return expiresAt === undefined ? null : unixSeconds(expiresAt)
}

function errorOf({ scenario }: VideoJob): object {
  return scenario === 'filtered'
    ? {
        code: 'moderation_blocked',
        message: '[sandbox] The video was withheld by the safety system.',
        type: 'video_generation_user_error',
      }
    : {
        code: 'video_generation_failed',
        message: '[sandbox] The video could not be generated.',
        type: 'server_error',
      }
}

function unixSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000)
}
