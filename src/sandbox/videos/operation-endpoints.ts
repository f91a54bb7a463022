import { maxVideoPromptLength, videoOperationEndpoint, videoResolutions } from '../../contract/videos.ts'
import { decodeBase64 } from '../../files/decode-base64.ts'
import { assertValid, invalidField, RequestProblem } from '../http/request-problem.ts'
import { bytesReply, googleReply, type Reply } from '../http/reply.ts'
import { numberOf, objectOf, objectsOf, textOf, type JsonObject } from '../json-value.ts'
import type { Exchange } from '../sandbox.ts'
import { drawFilm } from './film.ts'
import { filmSeed, pollHint, startJob } from './start-job.ts'
import {
  availableFilms,
  filmSeconds,
  filmText,
  jobStateAt,
  maxFilmSide,
  minFilmSide,
  type Film,
  type VideoJob,
} from './video-job.ts'

const defaults = { seconds: 8, resolution: '720p', count: 1 } as const

/** Maximum videos of all instances together; the specification sets no limit, but a stand-in should. */
const maxFilms = 16

/**
 * Endpoint 7: starts an operation; the reply contains only its name (wire notes, section 7).
 * @throws RequestProblem 400
 */
export async function createOperation(exchange: Exchange): Promise<Reply> {
  const { body, params, sandbox } = exchange
  assertValid(videoOperationEndpoint, body)
  const instances = objectsOf(body['instances'])
  const parameters = objectOf(body['parameters'])
  const shape = readShape(parameters)
  const count = numberOf(parameters['sampleCount']) ?? defaults.count
  if (count < 1 || instances.length * count > maxFilms) {
    throw invalidField('parameters.sampleCount', `must ask for 1 to ${maxFilms} videos in the sandbox`)
  }
  for (const [index, instance] of instances.entries()) checkInstance(instance, `instances[${index}]`)
  // A request with a seed of its own has the same answer every time.
  if (numberOf(parameters['seed']) !== undefined) exchange.seed = [sandbox.seed]
  const prompts = instances.map((instance) => textOf(instance['prompt']))
  const films = prompts.flatMap((prompt, index) =>
    Array.from({ length: count }, (_, sample): Film => {
      return { text: filmText(prompt), seed: filmSeed(exchange, index, sample), ...shape }
    }),
  )
  // The prompt may have any length; a look-up as a video truncates it to that of a video.
  const prompt = prompts[0]!.slice(0, maxVideoPromptLength)
  const facts = { kind: 'operation', model: params['model']!, prompt, films, remixedFrom: null } as const
  const job = await startJob(exchange, facts, prompts.join('\n'))
  return googleReply(
    { name: operationName(job) },
    { ...pollHint(job, exchange), creates: true, pause: 'first' },
  )
}

/**
 * The short side is that of the resolution, the other follows from the ratio, as long as a film can have it. The
 * specification names no values: what is unknown here is the default, not a refusal.
 */
function readShape(parameters: JsonObject): Pick<Film, 'width' | 'height' | 'seconds'> {
  const seconds = filmSeconds(parameters['durationSeconds'] ?? defaults.seconds, 'parameters.durationSeconds')
  const resolution = textOf(parameters['resolution']).toLowerCase()
  const known = Object.hasOwn(videoResolutions, resolution) ? resolution : defaults.resolution
  const [width, height] = videoResolutions[known]!
  const ratio = textOf(parameters['aspectRatio']).trim()
  // As wide and as high as whole numbers of up to four digits say.
  const [, wide, high] = /^([1-9]\d{0,3}):([1-9]\d{0,3})$/.exec(ratio) ?? []
  if (wide === undefined) return { width, height, seconds }
  const shape = Number(wide) / Number(high)
  const long = height * Math.max(shape, 1 / shape)
  const scale = Math.min(1, maxFilmSide / long)
  const [longer, shorter] = [long, height].map((side) => {
    return Math.max(minFilmSide, Math.round((side * scale) / 2) * 2)
  }) as [number, number]
  return shape < 1 ? { width: shorter, height: longer, seconds } : { width: longer, height: shorter, seconds }
}

const media = ['image', 'lastFrame', 'referenceImages', 'video']

function checkInstance(instance: JsonObject, field: string): void {
  for (const name of ['image', 'lastFrame']) {
    const { bytesBase64Encoded: base64 } = objectOf(instance[name])
    if (base64 !== undefined && decodeBase64(textOf(base64)) === undefined)
      throw invalidField(`${field}.${name}.bytesBase64Encoded`, 'must be base64')
  }
  if (media.some((name) => instance[name] !== undefined)) return
  if (textOf(instance['prompt']).trim() === '') {
    throw invalidField(`${field}.prompt`, 'must have text, or the instance a picture or a video')
  }
}

const responseType = 'type.googleapis.com/google.ai.generativelanguage.v1beta.PredictLongRunningResponse'

/** gRPC's number for an internal error (google/rpc/code.proto). */
const internalError = 13

function operationName({ model, id }: VideoJob): string {
  return `models/${model}/operations/${id}`
}

/**
 * `GET /v1beta/models/{model}/operations/{id}`: the name alone while it runs, `done` with samples, with reasons why
 * there are none, or with an error (wire notes, section 7).
 * @throws RequestProblem 404
 */
export async function lookUpOperation(exchange: Exchange): Promise<Reply> {
  const { params, origin, sandbox } = exchange
  const { model, id } = params as { model: string; id: string }
  const job = await sandbox.videoJobs.find(id)
  if (job?.kind !== 'operation' || job.model !== model) {
    throw new RequestProblem(404, `The operation models/${model}/operations/${id} was not found.`)
  }
  const { state } = jobStateAt(job, sandbox.clock.now())
  const outcome = state === 'failed' ? failed : state === 'completed' ? done(job, origin) : undefined
  return googleReply({ name: operationName(job), ...outcome }, pollHint(job, exchange))
}

const failed = {
  done: true,
  error: { code: internalError, message: '[sandbox] The video could not be generated.', details: [] },
}

const withheldReason =
  '[sandbox] The video was withheld by the safety system. You have not been charged for it.'

/** @param origin of the videos' URLs: `http://127.0.0.1:PORT` */
function done(job: VideoJob, origin: string): object {
  // File ids have only letters and digits, since Google's client extracts nothing else from URLs.
  const samples = availableFilms(job).map((_, index) => ({
    video: { uri: `${origin}/v1beta/files/${job.id}f${index}:download?alt=media` },
  }))
  const withheld = job.scenario === 'empty' ? 0 : job.films.length - samples.length
  return {
    done: true,
    response: {
      '@type': responseType,
      generateVideoResponse: {
        ...(samples.length > 0 && { generatedSamples: samples }),
        ...(withheld > 0 && {
          raiMediaFilteredCount: withheld,
          raiMediaFilteredReasons: Array.from({ length: withheld }, () => withheldReason),
        }),
      },
    },
  }
}

/**
 * `GET /v1beta/files/{file}:download`: redirects to the same file below `/download` (wire notes, section 7).
 * @throws RequestProblem 404
 */
export async function redirectToFile(exchange: Exchange): Promise<Reply> {
  await findFile(exchange)
  const { version, file } = exchange.params
  // Without the key: URLs end up in logs.
  const query = new URLSearchParams(exchange.query)
  query.delete('key')
  return googleReply(
    { error: { code: 302, message: 'Unknown Error.', status: 'UNKNOWN' } },
    { status: 302, headers: { location: `/download/${version}/files/${file}:download?${query}` } },
  )
}

/**
 * `GET /download/v1beta/files/{file}:download`: the video of a sample.
 * @throws RequestProblem 404 for what is not there, or not any more; 416
 */
export async function serveFile(exchange: Exchange): Promise<Reply> {
  return bytesReply(drawFilm(await findFile(exchange)), 'video/mp4')
}

async function findFile({ params, sandbox }: Exchange): Promise<Film> {
  const { videoJobs, clock } = sandbox
  const fileId = params['file']!
  const [, id = '', index] = /^([\da-z]+)f(\d+)$/.exec(fileId) ?? []
  const job = await videoJobs.find(id)
  if (job?.kind === 'operation') {
    const { state, expiresAt = Infinity } = jobStateAt(job, clock.now())
    const film = availableFilms(job)[Number(index)]
    if (film !== undefined && state === 'completed' && clock.now() < expiresAt) return film
  }
  throw new RequestProblem(404, `The file ${fileId.slice(0, 100)} does not exist or has expired.`)
}
