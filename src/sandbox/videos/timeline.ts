import type { VideoState } from '../../contract/videos.ts'
import { videoLifetimeMinutes } from '../../contract/video-create.ts'
import type { LatencyProfile } from '../http/pacing.ts'
import type { VideoJob } from './job.ts'

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
export interface Standing {
  readonly state: VideoState
  /** 0 to 100. */
  readonly progress: number
  /** Milliseconds since 1970; undefined before, and for a job that failed. */
  readonly completedAt: number | undefined
  readonly expiresAt: number | undefined
}

/** The state of a job follows from the clock alone, so that every process tells the same. */
export function standingOf(job: VideoJob, now: number): Standing {
  const { createdAt, pendingMs, runningMs, scenario } = job
  const ran = now - createdAt - pendingMs
  if (ran < 0) return running('pending', 0)
  const share = runningMs === 0 ? 1 : ran / runningMs
  if (scenario === 'stuck') return running('in_progress', Math.min(42, Math.floor(share * 100)))
  if (share < 1) {
    if (scenario === 'backwards') return backAndForth(share)
    return running('in_progress', Math.min(99, Math.floor(share * 100)))
  }
  if (isFailure(job)) return running('failed', 100)
  const completedAt = createdAt + pendingMs + runningMs
  const lifetime = scenario === 'expired' ? 0 : videoLifetimeMinutes * 60_000
  return { state: 'completed', progress: 100, completedAt, expiresAt: completedAt + lifetime }
}

/** Milliseconds since 1970 after which nobody will ask for a job any more: a day after its result expired. */
export function forgottenAt({ createdAt, pendingMs, runningMs }: VideoJob): number {
  return createdAt + pendingMs + runningMs + (videoLifetimeMinutes + 24 * 60) * 60_000
}

/** An operation tells of videos withheld by its response, a Video has only its error for it. */
function isFailure({ scenario, kind }: VideoJob): boolean {
  return scenario === 'failure' || scenario === 'error' || (scenario === 'filtered' && kind === 'video')
}

function backAndForth(share: number): Standing {
  const [state, progress] = (
    [
      ['in_progress', 60],
      ['in_progress', 20],
      ['pending', 0],
      ['in_progress', 90],
      ['in_progress', 75],
    ] as const
  )[Math.floor(share * 5)]!
  return running(state, progress)
}

function running(state: VideoState, progress: number): Standing {
  return { state, progress, completedAt: undefined, expiresAt: undefined }
}
