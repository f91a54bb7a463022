import { videoCreateEndpoint } from '../../contract/videos.ts'
import { askedFor } from '../answer/answer.ts'
import { invalidField, moderationBlocked } from '../http/request-problem.ts'
import type { Size } from '../images/pixels.ts'

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

/** A video before it is drawn: everything that determines its pixels. */
export interface Film extends Size {
  /** The prompt, followed by those of the remixes. */
  readonly text: string
  /** What determines the picture besides its text. */
  readonly seed: string
  readonly seconds: number
}

/** A stored job: what was requested and when. Its state follows from the clock. */
export interface VideoJob {
  /** The id of a video, or the last part of an operation's name. */
  readonly id: string
  readonly kind: 'video' | 'operation'
  readonly model: string
  readonly prompt: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** Milliseconds in the queue, then running. */
  readonly pendingMs: number
  readonly runningMs: number
  readonly scenario: VideoScenario | null
  /** Its results: one video, or those of an operation. */
  readonly films: readonly Film[]
  /** Id of a remix's source. */
  readonly remixedFrom: string | null
}

/** Whether the content of a file is a job. */
export function isJob({ createdAt, pendingMs, runningMs, films }: Partial<VideoJob>): boolean {
  const areTimes = [createdAt, pendingMs, runningMs].every(Number.isSafeInteger)
  const isSide = (side: number) => side >= minFilmSide && side <= maxFilmSide && side % 2 === 0
  const isFilm = ({ text, width, height, seconds }: Film) =>
    typeof text === 'string' && isSide(width) && isSide(height) && isFilmLength(seconds)
  return areTimes && films?.every(isFilm) === true
}

function isFilmLength(seconds: number): boolean {
  return Number.isInteger(seconds) && seconds >= 1 && seconds <= maxFilmSeconds
}

/**
 * The length of a video, as a number or a text.
 * @throws RequestProblem 400
 */
export function filmSeconds(value: unknown, field: string): number {
  const text = String(value)
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (isFilmLength(seconds)) return seconds
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
export function videoScenarioOf(
  header: string | undefined,
  prompt: string,
  model: string,
): VideoScenario | null {
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
