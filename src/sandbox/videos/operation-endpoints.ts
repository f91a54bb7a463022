import { maxVideoPromptLength, videoOperationEndpoint, videoResolutions } from '../../contract/videos.ts'
import { crc32 } from 'node:zlib'
import { assertValid, invalidField, RequestProblem } from '../http/request-problem.ts'
import { googleReply, type Reply } from '../http/reply.ts'
import { serveBytes } from '../http/serve-bytes.ts'
import { checkImageObject } from '../images/check-images.ts'
import { numberOf, objectOf, objectsOf, textOf, type JsonObject } from '../json-value.ts'
import { scenarioHeader, type Exchange } from '../sandbox.ts'
import {
  firstPrompt,
  filmSeconds,
  maxFilmSide,
  minFilmSide,
  type Film,
  operationName,
  videoScenarioOf,
  fileIdOf,
  parseFileId,
  availableFilms,
  type VideoJob,
} from './video-job.ts'
import { jobStateAt, lookUpFacts, pollHint } from './job-state.ts'

/** Default parameters. */
const defaults = { seconds: 8, resolution: '720p', count: 1 } as const

/** Maximum videos of all instances together; the specification sets no limit, but a stand-in should. */
const maxFilms = 16

/**
 * Endpoint 7: starts an operation; the reply contains only its name (wire notes, section 7).
 * @throws RequestProblem 400
 */
export async function createOperation(exchange: Exchange): Promise<Reply> {
  const { body, params, sandbox } = exchange
  const model = params['model']!
  assertValid(videoOperationEndpoint, body)
  const instances = objectsOf(body['instances'])
  const parameters = objectOf(body['parameters'])
  const shape = readShape(parameters)
  const count = numberOf(parameters['sampleCount']) ?? defaults.count
  if (count < 1 || instances.length * count > maxFilms) {
    throw invalidField('parameters.sampleCount', `must ask for 1 to ${maxFilms} videos in the sandbox`)
  }
  const fingerprints: number[][] = []
  for (const [index, instance] of instances.entries()) {
    fingerprints.push(await checkInstance(instance, `instances[${index}]`))
  }
  const prompts = instances.map((instance) => textOf(instance['prompt']))
  const id = sandbox.videoJobs.newId(20, sandbox.seed, exchange.number)
  const ownSeed = numberOf(parameters['seed'])
  const seed = ownSeed === undefined ? exchange.seed : [sandbox.seed, ownSeed]
  const job = await sandbox.videoJobs.start(
    {
      id,
      kind: 'operation',
      model,
      // The prompt may have any length; a look-up as a video truncates it to that of a video.
      prompt: prompts[0]!.slice(0, maxVideoPromptLength),
      scenario: videoScenarioOf(scenarioHeader(exchange), prompts.join('\n'), model),
      films: prompts.flatMap((prompt, index) =>
        Array.from({ length: count }, (_, sample): Film => ({
          prompts: firstPrompt(prompt),
          seed: JSON.stringify([...seed, index, sample, ...fingerprints[index]!]),
          ...shape,
        })),
      ),
      remixedFrom: null,
    },
    sandbox.pacing,
  )
  const headers = pollHint(job, sandbox.pacing)
  return googleReply({ name: operationName(job) }, { headers, creates: true, pause: 'first' })
}

/** The specification names no values: what is unknown here is the default, not a refusal. */
function readShape(parameters: JsonObject): Pick<Film, 'width' | 'height' | 'seconds'> {
  const seconds = filmSeconds(parameters['durationSeconds'] ?? defaults.seconds, 'parameters.durationSeconds')
  const resolution = textOf(parameters['resolution']).toLowerCase()
  const sides = Object.hasOwn(videoResolutions, resolution) ? videoResolutions[resolution]! : undefined
  return {
    ...filmSides(textOf(parameters['aspectRatio']), sides ?? videoResolutions[defaults.resolution]!),
    seconds,
  }
}

/** A ratio such as `16:9`, as wide and as high as whole numbers of up to four digits say. */
const ratioPattern = /^([1-9]\d{0,3}):([1-9]\d{0,3})$/

/** The sides of a film: the short one of the resolution, the other by the ratio, as long as a film can have it. */
function filmSides(ratio: string, [long, short]: readonly [number, number]): Pick<Film, 'width' | 'height'> {
  const [, wide, high] = ratioPattern.exec(ratio.trim()) ?? []
  if (wide === undefined) return { width: long, height: short }
  const shape = Number(wide) / Number(high)
  const other = short * Math.max(shape, 1 / shape)
  const scale = Math.min(1, maxFilmSide / other)
  const even = (side: number) => Math.max(minFilmSide, Math.round((side * scale) / 2) * 2)
  const [longer, shorter] = [even(other), even(short)]
  return shape < 1 ? { width: shorter, height: longer } : { width: longer, height: shorter }
}

/** @returns fingerprints of its pictures and its video */
async function checkInstance(instance: JsonObject, field: string): Promise<number[]> {
  const { video } = instance
  const fingerprints: number[] = video === undefined ? [] : [crc32(JSON.stringify(video))]
  for (const name of ['image', 'lastFrame']) {
    if (instance[name] === undefined) continue
    fingerprints.push(await checkImageObject(instance[name], `${field}.${name}`))
  }
  for (const [index, reference] of objectsOf(instance['referenceImages']).entries()) {
    fingerprints.push(await checkImageObject(reference['image'], `${field}.referenceImages[${index}].image`))
  }
  if (fingerprints.length === 0 && textOf(instance['prompt']).trim() === '') {
    throw invalidField(`${field}.prompt`, 'must have text, or the instance a picture or a video')
  }
  return fingerprints
}

const responseType = 'type.googleapis.com/google.ai.generativelanguage.v1beta.PredictLongRunningResponse'

/** gRPC's number for an internal error (google/rpc/code.proto). */
const internalError = 13

/**
 * `GET /v1beta/models/{model}/operations/{id}`: the name alone while it runs, `done` with samples, with reasons why
 * there are none, or with an error (wire notes, section 7).
 * @throws RequestProblem 404
 */
export async function lookUpOperation({ params, origin, sandbox }: Exchange): Promise<Reply> {
  const { model, id } = params as { model: string; id: string }
  const job = await sandbox.videoJobs.find(id)
  if (job?.kind !== 'operation' || job.model !== model) {
    throw new RequestProblem(404, `The operation models/${model}/operations/${id} was not found.`)
  }
  const state = jobStateAt(job, sandbox.clock.now())
  const outcome =
    state.state === 'failed' ? failed : state.state === 'completed' ? done(job, origin) : undefined
  return googleReply({ name: operationName(job), ...outcome }, lookUpFacts(job, state, sandbox.pacing))
}

const failed = {
  done: true,
  error: { code: internalError, message: '[sandbox] The video could not be generated.', details: [] },
}

const withheldReason =
  '[sandbox] The video was withheld by the safety system. You have not been charged for it.'

/** @param origin of the videos' URLs: `http://127.0.0.1:PORT` */
function done(job: VideoJob, origin: string): object {
  const available = availableFilms(job)
  const samples = Array.from({ length: available }, (_, index) => ({
    video: { uri: `${origin}/v1beta/files/${fileIdOf(job, index)}:download?alt=media` },
  }))
  const withheld = job.scenario === 'empty' ? 0 : job.films.length - available
  return {
    done: true,
    response: {
      '@type': responseType,
      generateVideoResponse: {
        ...(available > 0 && { generatedSamples: samples }),
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
  return serveBytes(await exchange.sandbox.videos(await findFile(exchange), 'video'))
}

async function findFile({ params, sandbox }: Exchange): Promise<Film> {
  const { videoJobs, clock } = sandbox
  const fileId = params['file']!
  const fileRef = parseFileId(fileId)
  const job = fileRef && (await videoJobs.find(fileRef.id))
  if (fileRef !== undefined && job?.kind === 'operation') {
    const { state, expiresAt = Infinity } = jobStateAt(job, clock.now())
    const isThere = state === 'completed' && clock.now() < expiresAt && fileRef.index < availableFilms(job)
    if (isThere) return job.films[fileRef.index]!
  }
  throw new RequestProblem(404, `The file ${fileId.slice(0, 100)} does not exist or has expired.`)
}
