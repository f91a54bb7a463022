import { type VideoState, videoLifetimeMinutes } from '../../contract/videos.ts'
import type { JobPacing } from '../http/reply.ts'
import { invalidField } from '../http/request-problem.ts'
import type { Size } from '../images/pixels.ts'

/** Rejected immediately, failed, withheld (all or the last), without a result or with an expired one, never over. */
export const videoScenarios = 'refusal block failure error filtered fewer empty expired stuck'.split(' ')

/** Maximum length of a video; the specification sets no limit, but a stand-in should. */
const maxFilmSeconds = 60

/** Limits of the sides of a film, in pixels: even numbers, of whole macroblocks at the least. */
export const [minFilmSide, maxFilmSide] = [16, 4096]

/** A video before it is drawn: everything that determines its pixels. */
export interface Film extends Size {
  /** The prompt, followed by those of the remixes. */
  readonly text: string
  /** What determines the picture besides its text. */
  readonly seed: string
  readonly seconds: number
}

/** A stored job: what was requested and when. Its state follows from the clock. */
export interface VideoJob extends Pick<JobPacing, 'pendingMs' | 'runningMs'> {
  /** The id of a video, or the last part of an operation's name. */
  readonly id: string
  readonly kind: 'video' | 'operation'
  readonly model: string
  readonly prompt: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  readonly scenario: string | null
  readonly films: readonly Film[]
  readonly remixedFrom: string | null
}

/** A job at a time. Progress is up to 100, times are in milliseconds since 1970. */
export interface JobAt extends VideoJob {
  readonly state: VideoState
  readonly progress: number
  readonly completedAt?: number
  readonly expiresAt?: number
  /** The films that are not withheld. */
  readonly results: readonly Film[]
}

export function isJob({ createdAt, films }: Partial<VideoJob>): boolean {
  return typeof createdAt === 'number' && films?.every(({ text }) => typeof text === 'string') === true
}

export function filmSeconds(value: unknown, field: string): number {
  const seconds = /^\d{1,9}$/.test(String(value)) ? Number(value) : Number.NaN
  if (seconds >= 1 && seconds <= maxFilmSeconds) return seconds
  throw invalidField(field, `must be a whole number from 1 to ${maxFilmSeconds} in the sandbox`)
}

/** How much of the prompts affects the picture, in characters: limits the size of a stored job. */
const decisiveLength = 4000

export function filmText(...prompts: readonly string[]): string {
  return prompts.join(' / ').slice(-decisiveLength)
}

const sourcePrompt = 'a paper boat on a calm sea at sunset'

/** A completed video that always exists and never expires, so that there is something to remix. */
export const sourceVideo: VideoJob = {
  id: 'video_sandbox_source',
  kind: 'video',
  model: 'sandbox-video',
  prompt: sourcePrompt,
  createdAt: Date.UTC(2026, 0, 1) - 4000,
  pendingMs: 1000,
  runningMs: 3000,
  scenario: null,
  films: [{ text: sourcePrompt, seed: 'video_sandbox_source', width: 1280, height: 720, seconds: 4 }],
  remixedFrom: null,
}

const lifetimeMs = videoLifetimeMinutes * 60_000

/** The state depends only on the clock, so that all processes agree. */
export function jobAt(job: VideoJob, now: number): JobAt {
  const { kind, createdAt, pendingMs, runningMs, scenario, films } = job
  const isWithheld = scenario === 'filtered' || scenario === 'empty'
  const results = isWithheld ? [] : scenario === 'fewer' ? films.slice(0, -1) : films
  const ran = now - createdAt - pendingMs
  if (ran < 0) return { ...job, results, state: 'pending', progress: 0 }
  const share = runningMs === 0 ? 1 : ran / runningMs
  if (scenario === 'stuck' || share < 1) {
    const progress = Math.min(scenario === 'stuck' ? 42 : 99, Math.floor(share * 100))
    return { ...job, results, state: 'in_progress', progress }
  }
  // An operation reports withheld videos in its response; a Video only has its error field.
  const hasFailed =
    scenario === 'failure' || scenario === 'error' || (scenario === 'filtered' && kind === 'video')
  if (hasFailed) return { ...job, results, state: 'failed', progress: 100 }
  const completedAt = createdAt + pendingMs + runningMs
  const keptFrom = job.id === sourceVideo.id ? now : completedAt
  const expiresAt = scenario === 'expired' ? completedAt : keptFrom + lifetimeMs
  return { ...job, results, state: 'completed', progress: 100, completedAt, expiresAt }
}

/** Whether a job can be deleted: a day after its result expired. */
export function isJobOver({ createdAt, pendingMs, runningMs }: VideoJob, now: number): boolean {
  return now >= createdAt + pendingMs + runningMs + lifetimeMs + 24 * 3_600_000
}
