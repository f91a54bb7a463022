import * as v from 'valibot'
import { videoCreateEndpoint } from '../../contract/videos.ts'
import { askedFor } from '../answer/answer.ts'
import { moderationBlocked } from '../http/request-problem.ts'
import { scenarioHeader, type SandboxRequest } from '../request.ts'

/** What can be asked of a video job besides a good end: by header, by a word of the prompt, by the model's name. */
const videoScenarios = [
  // Turned down at once.
  'refusal',
  'block',
  // The job ends as failed, with an error object.
  'failure',
  'error',
  // The result is withheld: all of it, or the last video of several.
  'filtered',
  'fewer',
  // Completed, with nothing in it.
  'empty',
  // Completed, and the result has expired at once.
  'expired',
  // In progress for good.
  'stuck',
  // The progress goes back and forth, and so does the state.
  'backwards',
  // A state that no document knows, and then completion.
  'unknown',
  // States in other words and letter cases, progress as text, times in milliseconds.
  'spelling',
  // HTTP status 202 while the job runs.
  'accepted',
] as const
type VideoScenario = (typeof videoScenarios)[number]

/** The longest video; the specification sets no limit, a stand-in should. */
export const maxFilmSeconds = 60

const wholeNumber = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
const side = v.pipe(wholeNumber, v.minValue(16), v.maxValue(4096), v.multipleOf(2))

const filmSchema = v.object({
  /** The first prompt, and the changes of the remixes on top of it. */
  prompts: v.tupleWithRest([v.string()], v.string()),
  /** What makes it repeatable, beside the prompts. */
  seed: v.string(),
  width: side,
  height: side,
  seconds: v.pipe(wholeNumber, v.minValue(1), v.maxValue(maxFilmSeconds)),
})

/** A video before it is drawn: all that decides its pixels. */
export type Film = Readonly<v.InferOutput<typeof filmSchema>>

export const jobSchema = v.object({
  /** Of a video, or the last part of an operation's name. */
  id: v.string(),
  kind: v.picklist(['video', 'operation']),
  model: v.string(),
  prompt: v.string(),
  /** Milliseconds since 1970. */
  createdAt: wholeNumber,
  /** Milliseconds that it waits, and then runs. */
  pendingMs: wholeNumber,
  runningMs: wholeNumber,
  scenario: v.nullable(v.picklist(videoScenarios)),
  /** What it makes: one video, or those of an operation. */
  films: v.array(filmSchema),
  /** Id of the source of a remix. */
  remixedFrom: v.nullable(v.string()),
})

/** A job as it is kept: what was asked and when. Its state follows from the clock. */
export type VideoJob = Readonly<v.InferOutput<typeof jobSchema>>

/** The size word of the Video object, which has one for each way up (specification, resource Video). */
export function sizeName({ width, height }: Film): string {
  return known.has(`${width}x${height}`) ? `${width}x${height}` : width > height ? '1280x720' : '720x1280'
}

const known = new Set<unknown>(videoCreateEndpoint.fields['size']?.values)

/** Of a prompt, so much decides the picture: a job stays small on the disk whatever is asked. */
const decisiveLength = 2000
/** Remixes of remixes keep so many of their changes. */
const maxChanges = 8

/** The prompts of a video that is made from nothing but its own. */
export function firstPrompt(prompt: string): Film['prompts'] {
  return [prompt.slice(0, decisiveLength)]
}

/** The prompts of a remix. */
export function withChange([first, ...changes]: Film['prompts'], prompt: string): Film['prompts'] {
  return [first, ...[...changes, prompt.slice(0, decisiveLength)].slice(-maxChanges)]
}

/** The name of an operation, by which its state is asked for. */
export function operationName({ model, id }: VideoJob): string {
  return `models/${model}/operations/${id}`
}

/** Videos of one job have addresses of letters and digits only: Google's client reads nothing else out of them. */
export function fileIdOf({ id }: VideoJob, index: number): string {
  return `${id}f${index}`
}

/** The job and the place of the video that a file id names; undefined for what names none. */
export function parseFileId(fileId: string): { readonly id: string; readonly index: number } | undefined {
  const [, id, index] = /^([\da-z]+)f(\d+)$/.exec(fileId) ?? []
  return id === undefined ? undefined : { id, index: Number(index) }
}

/** A completed video that is always there, so that a newcomer has something to remix. */
export const sourceVideoId = 'video_sandbox_source'

const completedAt = Date.UTC(2026, 0, 1)

export const sourceVideo: VideoJob = {
  id: sourceVideoId,
  kind: 'video',
  model: 'sandbox-video',
  prompt: 'a paper boat on a calm sea at sunset',
  createdAt: completedAt - 4000,
  pendingMs: 1000,
  runningMs: 3000,
  scenario: null,
  films: [
    {
      prompts: ['a paper boat on a calm sea at sunset'],
      seed: sourceVideoId,
      width: 1280,
      height: 720,
      seconds: 4,
    },
  ],
  remixedFrom: null,
}

/**
 * The scenario that a request for a video asks for.
 * @throws RequestProblem 400 when it is a refusal
 */
export function videoScenarioOf(
  request: SandboxRequest,
  prompt: string,
  model: string,
): VideoScenario | null {
  const ofModel = videoScenarios.find((scenario) => model === `sandbox-${scenario}`)
  const scenario = askedFor(videoScenarios, scenarioHeader(request), prompt) ?? ofModel ?? null
  if (scenario === 'refusal' || scenario === 'block') throw moderationBlocked('video_generation_user_error')
  return scenario
}

/** Videos that the scenario leaves of those made. */
export function availableFilms({ scenario, films }: VideoJob): number {
  if (scenario === 'filtered' || scenario === 'empty') return 0
  return scenario === 'fewer' ? films.length - 1 : films.length
}
