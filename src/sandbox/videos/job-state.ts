import type { VideoState } from '../../contract/video-state.ts'
import { videoLifetimeMinutes } from '../../contract/videos.ts'
import type { Reply } from '../http/reply.ts'
import type { Exchange } from '../sandbox.ts'
import { seededHex } from '../seeded-random.ts'
import { type Film, type VideoJob, sizeName, sourceVideoId, videoScenarioOf } from './video-job.ts'

/** Digits of the ids of jobs, by their kind. */
const idLength = { video: 48, operation: 20 } as const

type NewJob = Pick<VideoJob, 'kind' | 'model' | 'prompt' | 'remixedFrom' | 'films'>

/**
 * Starts a job, which is queued immediately.
 * @param asked the prompts, which may ask for a scenario
 * @throws RequestProblem 400 in scenarios that reject the request
 */
export async function startJob(exchange: Exchange, job: NewJob, asked = job.prompt): Promise<VideoJob> {
  const { sandbox, number } = exchange
  const { videoJobs, seed, clock, pacing } = sandbox
  const scenario = videoScenarioOf(exchange.scenario, asked, job.model)
  const digits = seededHex(idLength[job.kind], seed, 'video', number, ...videoJobs.salt())
  const id = job.kind === 'video' ? `video_${digits}` : digits
  const { pendingMs, runningMs } = pacing
  const started = { id, ...job, scenario, createdAt: clock.now(), pendingMs, runningMs }
  await videoJobs.keep(started)
  // Removes what is over.
  await videoJobs.list()
  return started
}

/** What determines a film besides its text: all of the request, and how often it came before. */
export function filmSeed({ seed, digest }: Exchange, ...more: readonly number[]): Film['seed'] {
  return JSON.stringify([...seed, digest, ...more])
}

/** The state of a job at a given time. */
export interface JobState {
  readonly state: VideoState
  /** 0 to 100. */
  readonly progress: number
  /** Milliseconds since 1970; undefined before, and for a job that failed. */
  readonly completedAt?: number
  readonly expiresAt?: number
}

/** The state of a job depends only on the clock, so that all processes agree. */
export function jobStateAt(job: VideoJob, now: number): JobState {
  const { createdAt, pendingMs, runningMs, scenario } = job
  const ran = now - createdAt - pendingMs
  if (ran < 0) return { state: 'pending', progress: 0 }
  const share = runningMs === 0 ? 1 : ran / runningMs
  if (scenario === 'stuck' || share < 1) {
    const most = scenario === 'stuck' ? 42 : 99
    return { state: 'in_progress', progress: Math.min(most, Math.floor(share * 100)) }
  }
  if (isFailure(job)) return { state: 'failed', progress: 100 }
  const completedAt = createdAt + pendingMs + runningMs
  const lifetime = scenario === 'expired' ? 0 : videoLifetimeMinutes * 60_000
  return { state: 'completed', progress: 100, completedAt, expiresAt: completedAt + lifetime }
}

/** Whether a job can be deleted: a day after its result expired. */
export function isJobOver({ createdAt, pendingMs, runningMs }: VideoJob, now: number): boolean {
  return now >= createdAt + pendingMs + runningMs + (videoLifetimeMinutes + 24 * 60) * 60_000
}

/** When to poll a running job again, in the headers that the clients of either service read. */
export function pollHint({ kind }: VideoJob, { sandbox }: Exchange): Reply['headers'] {
  return { [kind === 'video' ? 'openai-poll-after-ms' : 'retry-after-ms']: String(sandbox.pacing.pollMs) }
}

/** The status and the headers for the look-up of a job. */
export function lookUpFacts(job: VideoJob, { state }: JobState, exchange: Exchange): Partial<Reply> {
  if (state !== 'pending' && state !== 'in_progress') return {}
  return { headers: pollHint(job, exchange) }
}

/** An operation reports withheld videos in its response; a Video only has its error field. */
function isFailure({ scenario, kind }: VideoJob): boolean {
  return scenario === 'failure' || scenario === 'error' || (scenario === 'filtered' && kind === 'video')
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
  return {
    id,
    object: 'video',
    created_at: unixSeconds(job.createdAt),
    ...(completedAt !== undefined && { completed_at: unixSeconds(completedAt) }),
    model,
    status: saysQueued && state === 'pending' ? 'queued' : state,
    progress,
    ...(lifetimeEnd !== undefined && { expires_at: unixSeconds(lifetimeEnd) }),
    prompt,
    seconds: String(film.seconds),
    size: sizeName(film),
    ...(remixedFrom !== null && { remixed_from_video_id: remixedFrom }),
    ...(state === 'failed' && { error: scenario === 'filtered' ? withheldError : failedError }),
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
