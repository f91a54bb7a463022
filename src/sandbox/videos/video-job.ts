import * as v from 'valibot'
import type { VideoState } from '../../contract/video-state.ts'
import { videoCreateEndpoint, videoLifetimeMinutes } from '../../contract/videos.ts'
import { askedFor } from '../answer/answer.ts'
import type { Reply } from '../http/reply.ts'
import { invalidField, moderationBlocked } from '../http/request-problem.ts'
import { type Exchange, scenarioHeader } from '../sandbox.ts'
import { seededHex } from '../seeded-random.ts'

/** Scenarios of video jobs other than success: selected by header, by a word of the prompt, or by the model's name. */
const videoScenarios = [
  // Rejected immediately.
  'refusal',
  'block',
  // The job ends as failed, with an error object.
  'failure',
  'error',
  // The result is withheld: all of it, or the last video of several.
  'filtered',
  'fewer',
  // Completed, without a result.
  'empty',
  // Completed, with an expired result.
  'expired',
  // In progress forever.
  'stuck',
] as const
type VideoScenario = (typeof videoScenarios)[number]

/** Maximum length of a video; the specification sets no limit, but a stand-in should. */
const maxFilmSeconds = 60

/** Limits of the sides of a film, in pixels: even numbers, of whole macroblocks at the least. */
export const minFilmSide = 16
export const maxFilmSide = 4096

const wholeNumber = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
const side = v.pipe(wholeNumber, v.minValue(minFilmSide), v.maxValue(maxFilmSide), v.multipleOf(2))

const filmSchema = v.object({
  /** The prompt, followed by those of the remixes. */
  text: v.string(),
  /** What determines the picture besides its text. */
  seed: v.string(),
  width: side,
  height: side,
  seconds: v.pipe(wholeNumber, v.minValue(1), v.maxValue(maxFilmSeconds)),
})

/** A video before it is drawn: everything that determines its pixels. */
export type Film = Readonly<v.InferOutput<typeof filmSchema>>

const jobSchema = v.object({
  /** The id of a video, or the last part of an operation's name. */
  id: v.string(),
  kind: v.picklist(['video', 'operation']),
  model: v.string(),
  prompt: v.string(),
  /** Milliseconds since 1970. */
  createdAt: wholeNumber,
  /** Milliseconds in the queue, then running. */
  pendingMs: wholeNumber,
  runningMs: wholeNumber,
  scenario: v.nullable(v.picklist(videoScenarios)),
  /** Its results: one video, or those of an operation. */
  films: v.array(filmSchema),
  /** Id of a remix's source. */
  remixedFrom: v.nullable(v.string()),
})

/** A stored job: what was requested and when. Its state follows from the clock. */
export type VideoJob = Readonly<v.InferOutput<typeof jobSchema>>

/** @throws Error for what is no job */
export function parseJob(value: unknown): VideoJob {
  return v.parse(jobSchema, value)
}

/**
 * The length of a video, as a number or a text.
 * @throws RequestProblem 400
 */
export function filmSeconds(value: unknown, field: string): number {
  const text = String(value)
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (seconds >= 1 && seconds <= maxFilmSeconds) return seconds
  throw invalidField(field, `must be a whole number from 1 to ${maxFilmSeconds} in the sandbox`)
}

/** The size word of the Video object, which has one for each way up (specification, resource Video). */
export function sizeName({ width, height }: Film): string {
  const name = `${width}x${height}`
  if (videoCreateEndpoint.fields['size']?.values?.includes(name)) return name
  return width > height ? '1280x720' : '720x1280'
}

/** How much of the prompts affects the picture, in characters: limits the size of a stored job. */
const decisiveLength = 4000

/** The text of a film: the end of its prompts. */
export function filmText(...prompts: readonly string[]): string {
  return prompts.join(' / ').slice(-decisiveLength)
}

/** A completed video that always exists, so that there is something to remix. */
export const sourceVideoId = 'video_sandbox_source'

const sourcePrompt = 'a paper boat on a calm sea at sunset'

export const sourceVideo: VideoJob = {
  id: sourceVideoId,
  kind: 'video',
  model: 'sandbox-video',
  prompt: sourcePrompt,
  createdAt: Date.UTC(2026, 0, 1) - 4000,
  pendingMs: 1000,
  runningMs: 3000,
  scenario: null,
  films: [{ text: sourcePrompt, seed: sourceVideoId, width: 1280, height: 720, seconds: 4 }],
  remixedFrom: null,
}

/**
 * The scenario that a request for a video selects.
 * @param header of the request, which takes precedence
 * @throws RequestProblem 400 if it is a rejection
 */
function videoScenarioOf(header: string | undefined, prompt: string, model: string): VideoScenario | null {
  const ofModel = videoScenarios.find((scenario) => model === `sandbox-${scenario}`)
  const scenario = askedFor(videoScenarios, header, prompt) ?? ofModel ?? null
  if (scenario === 'refusal' || scenario === 'block') throw moderationBlocked('video_generation_user_error')
  return scenario
}

/** The videos that are not withheld in the scenario. */
export function availableFilms({ scenario, films }: VideoJob): readonly Film[] {
  if (scenario === 'filtered' || scenario === 'empty') return []
  return scenario === 'fewer' ? films.slice(0, -1) : films
}

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
  const scenario = videoScenarioOf(scenarioHeader(exchange), asked, job.model)
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
