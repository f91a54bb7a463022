import { modelCalled } from '../../contract/known-models.ts'
import {
  isFinal,
  lastSegment,
  maxVideoPromptLength,
  videoCreateEndpoint,
  videoListLimit,
  videoOperationEndpoint,
  videoRemixEndpoint,
  videoResolutions,
} from '../../contract/videos.ts'
import { decodeBase64 } from '../../files/media-references.ts'
import { mediaScenario } from '../answer/answer.ts'
import { bytesReply, googleReply, jsonReply, type Reply } from '../http/reply.ts'
import { RequestProblem, assertValid, invalidField } from '../http/request-problem.ts'
import { shapeOf, sizeOf } from '../images/image-request.ts'
import { numberOf, objectOf, objectsOf, textOf, type JsonObject } from '../json-value.ts'
import { assertServed, videoModel } from '../sandbox-models.ts'
import type { Exchange, SandboxState } from '../sandbox.ts'
import { seededHex } from '../seeded-random.ts'
import { drawFilm, drawThumbnail } from './film.ts'
import {
  filmSeconds,
  filmText,
  jobAt,
  maxFilmSide,
  minFilmSide,
  sourceVideo,
  type Film,
  type JobAt,
  type VideoJob,
  videoScenarios,
} from './video-job.ts'

/** @param asked the prompts, which may ask for a scenario */
async function startJob(
  { sandbox, number, scenario: header }: Exchange,
  job: Pick<VideoJob, 'kind' | 'model' | 'prompt' | 'remixedFrom' | 'films'>,
  asked = job.prompt,
): Promise<JobAt> {
  const { videoJobs, seed, clock, pacing } = sandbox
  const { pendingMs, runningMs } = pacing
  const scenario =
    mediaScenario(videoScenarios, 'video_generation_user_error', header, asked, job.model) ?? null
  const digits = seededHex(48, seed, 'video', number, ...videoJobs.salt())
  const id = job.kind === 'video' ? `video_${digits}` : digits.slice(0, 20)
  const started = { id, ...job, scenario, createdAt: clock.now(), pendingMs, runningMs }
  await videoJobs.keep(started)
  // Removes what is over.
  await videoJobs.list()
  return jobAt(started, clock.now())
}

/** What determines a film besides its text: all of the request, and how often it came before. */
function filmSeed({ seed, digest }: Exchange, ...more: readonly number[]): Film['seed'] {
  return JSON.stringify([...seed, digest, ...more])
}

/** When to ask for a job again that is not over, in the headers that the clients of either service read. */
function pollHint({ kind, state }: JobAt, { sandbox }: Exchange): Pick<Reply, 'headers'> {
  const name = kind === 'video' ? 'openai-poll-after-ms' : 'retry-after-ms'
  return { headers: isFinal(state) ? {} : { [name]: String(sandbox.pacing.pollMs) } }
}

/** `POST /v1/videos`: a video from a prompt (wire notes, "Videos"). */
export async function createVideo(exchange: Exchange): Promise<Reply> {
  const { body, files, sandbox } = exchange
  const model = textOf(body['model']) || videoModel
  assertServed(videoCreateEndpoint, modelCalled(model, sandbox.families))
  assertValid(videoCreateEndpoint, body)
  const seconds = filmSeconds(body['seconds'] ?? '4', 'seconds')
  const size = sizeOf(textOf(body['size']) || '720x1280')!
  const foreign = files.find(({ field }) => field !== 'input_reference')
  if (foreign !== undefined) throw invalidField(foreign.field, 'is not a file of this request')
  if (files.length > 1) throw invalidField('input_reference', 'must be one file')
  if (body['input_reference'] !== undefined) {
    throw invalidField('input_reference', 'must be a file of a form; the sandbox fetches no addresses')
  }
  const film = { text: filmText(textOf(body['prompt'])), seed: filmSeed(exchange), ...size, seconds }
  return startVideo(exchange, model, film)
}

async function startVideo(exchange: Exchange, model: string, film: Film, remixedFrom: string | null = null) {
  const prompt = textOf(exchange.body['prompt'])
  const job = await startJob(exchange, { kind: 'video', model, prompt, films: [film], remixedFrom })
  // The reply of a remix has `error` (specification, endpoint 3).
  const reply = remixedFrom === null ? videoObject(job, true) : { ...videoObject(job), error: null }
  return jsonReply(reply, { ...pollHint(job, exchange), creates: true, pause: 'first' })
}

/** Endpoint 3: a new video from a completed one, which an operation may have made. Same length, same size. */
export async function remixVideo(exchange: Exchange): Promise<Reply> {
  const { body, sandbox } = exchange
  const model = textOf(body['model'])
  assertServed(videoRemixEndpoint, modelCalled(model, sandbox.families))
  assertValid(videoRemixEndpoint, body)
  const { id, state, films, results } = await findVideo(exchange)
  if (state !== 'completed') {
    throw invalidVideo(`The video ${id} is not completed: it is ${state}.`, 'video_not_completed')
  }
  if (results.length === 0) throw invalidVideo(`The operation ${id} has no video.`, 'video_missing')
  const film = films[0]!
  const text = filmText(film.text, textOf(body['prompt']))
  return startVideo(exchange, model, { ...film, ...sizeOf(sizeName(film)), text }, id)
}

function invalidVideo(message: string, code = 'invalid_value', status = 400): RequestProblem {
  return new RequestProblem(status, message, { param: 'video_id', code })
}

async function findJob({ videoJobs, clock }: SandboxState, id: string): Promise<JobAt | undefined> {
  const job = id === sourceVideo.id ? sourceVideo : await videoJobs.find(id)
  return job && jobAt(job, clock.now())
}

/** The job of a video's id, of an operation's, or of an operation's whole name. */
async function findVideo({ params, sandbox }: Exchange): Promise<JobAt> {
  const name = params['id']!
  const job = await findJob(sandbox, lastSegment(name))
  if (job !== undefined) return job
  throw invalidVideo(`Video with id '${name.slice(0, 200)}' not found.`, 'video_not_found', 404)
}

/** Endpoint 5. Also accepts operations, like gateways without an endpoint for them (quirk 26). */
export async function getVideo(exchange: Exchange): Promise<Reply> {
  const job = await findVideo(exchange)
  const isHelper = exchange.headers['x-stainless-poll-helper'] !== undefined
  return jsonReply(videoObject(job, isHelper), pollHint(job, exchange))
}

export async function deleteVideo(exchange: Exchange): Promise<Reply> {
  const { id, state } = await findVideo(exchange)
  if (id === sourceVideo.id) throw invalidVideo('The built-in video of the sandbox cannot be deleted.')
  if (!isFinal(state)) throw invalidVideo(`The video is still ${state}.`)
  await exchange.sandbox.videoJobs.remove(id)
  return jsonReply({ id, object: 'video.deleted', deleted: true })
}

/** `GET /v1/videos`: videos and remixes, newest first unless `order=asc`. */
export async function listVideos({ query, sandbox }: Exchange): Promise<Reply> {
  const limit = query.get('limit') ?? String(videoListLimit.default)
  if (!/^\d{1,4}$/.test(limit) || Number(limit) > videoListLimit.max)
    throw invalidField('limit', `must be from 0 to ${videoListLimit.max}`)
  const order = query.get('order') ?? 'desc'
  if (order !== 'asc' && order !== 'desc') throw invalidField('order', 'must be asc or desc')
  const made = (await sandbox.videoJobs.list()).filter(({ kind }) => kind === 'video')
  const byAge = made.sort((one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1))
  const jobs = order === 'asc' ? [sourceVideo, ...byAge] : [...byAge.reverse(), sourceVideo]
  const after = query.get('after')
  const start = after === null ? 0 : jobs.findIndex(({ id }) => id === after) + 1
  if (after !== null && start === 0) throw invalidField('after', 'must be the id of a video')
  const page = jobs.slice(start, start + Number(limit))
  return jsonReply({
    object: 'list',
    data: page.map((job) => videoObject(jobAt(job, sandbox.clock.now()))),
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: start + page.length < jobs.length,
  })
}

/** `GET /v1/videos/{id}/content`: the video, or a still of it with `variant=thumbnail`. */
export async function serveContent(exchange: Exchange): Promise<Reply> {
  const { state, results, expiresAt = Infinity } = await findVideo(exchange)
  const variant = exchange.query.get('variant') ?? 'video'
  if (variant !== 'video' && variant !== 'thumbnail') {
    throw invalidField('variant', 'must be video or thumbnail in the sandbox')
  }
  if (state !== 'completed')
    throw invalidVideo(`Video is not ready yet: it is ${state}.`, 'video_not_completed')
  if (exchange.sandbox.clock.now() >= expiresAt) {
    const expiry = new Date(expiresAt).toISOString()
    throw invalidVideo(`The content of this video expired at ${expiry}.`, 'video_expired', 410)
  }
  const [film] = results
  if (film === undefined) throw new RequestProblem(404, 'This job has no video.')
  return variant === 'video'
    ? bytesReply(drawFilm(film), 'video/mp4')
    : bytesReply(await drawThumbnail(film), 'image/webp')
}

/**
 * What is not set yet is left out: the specification calls no field nullable.
 * @param saysQueued whether what is pending is `queued`: the poll helpers of the official clients know no other word
 */
function videoObject(job: JobAt, saysQueued = false): object {
  const { id, model, prompt, films, remixedFrom, state, progress, completedAt, expiresAt } = job
  const film = films[0]!
  return {
    id,
    object: 'video',
    created_at: Math.floor(job.createdAt / 1000),
    ...(completedAt !== undefined && { completed_at: Math.floor(completedAt / 1000) }),
    model,
    status: saysQueued && state === 'pending' ? 'queued' : state,
    progress,
    ...(expiresAt !== undefined && { expires_at: Math.floor(expiresAt / 1000) }),
    prompt,
    seconds: String(film.seconds),
    size: sizeName(film),
    ...(remixedFrom !== null && { remixed_from_video_id: remixedFrom }),
    ...(state === 'failed' && { error: job.scenario === 'filtered' ? withheldError : failedError }),
  }
}

/** The size word of the Video object, which has one for each way up (specification, resource Video). */
function sizeName({ width, height }: Film): string {
  const name = `${width}x${height}`
  if (videoCreateEndpoint.fields['size']?.values?.includes(name)) return name
  return width > height ? '1280x720' : '720x1280'
}

const failure = '[sandbox] The video could not be generated.'
const withheld = '[sandbox] The video was withheld by the safety system.'
const failedError = { code: 'video_generation_failed', message: failure, type: 'server_error' }
const withheldError = { code: 'moderation_blocked', message: withheld, type: 'video_generation_user_error' }

/** Maximum videos of all instances together; the specification sets no limit, but a stand-in should. */
const maxFilms = 16

/** Endpoint 7: starts an operation; the reply contains only its name (wire notes, section 7). */
export async function createOperation(exchange: Exchange): Promise<Reply> {
  const { body, params, sandbox } = exchange
  assertValid(videoOperationEndpoint, body)
  const instances = objectsOf(body['instances'])
  const parameters = objectOf(body['parameters'])
  const shape = readShape(parameters)
  const count = numberOf(parameters['sampleCount']) ?? 1
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
  const name = operationName(job)
  return googleReply({ name }, { ...pollHint(job, exchange), creates: true, pause: 'first' })
}

/**
 * The short side is that of the resolution, the other follows from the ratio, as long as a film can have it. The
 * specification names no values: what is unknown here is the default, not a refusal.
 */
function readShape(parameters: JsonObject): Pick<Film, 'width' | 'height' | 'seconds'> {
  const seconds = filmSeconds(parameters['durationSeconds'] ?? 8, 'parameters.durationSeconds')
  const resolution = textOf(parameters['resolution']).toLowerCase()
  const known = Object.hasOwn(videoResolutions, resolution) ? resolution : '720p'
  const [width, height] = videoResolutions[known]!
  const shape = shapeOf(parameters['aspectRatio']) ?? width / height
  const slimness = Math.max(shape, 1 / shape)
  const long = Math.min(maxFilmSide, height * slimness)
  const even = (side: number) => Math.max(minFilmSide, Math.round(side / 2) * 2)
  const [longer, shorter] = [even(long), even(long / slimness)]
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

function operationName({ model, id }: Pick<VideoJob, 'model' | 'id'>): string {
  return `models/${model}/operations/${id}`
}

/** `GET /v1beta/models/{model}/operations/{id}`: the name alone while it runs, then the outcome (wire notes, section 7). */
export async function lookUpOperation(exchange: Exchange): Promise<Reply> {
  const { params, origin, sandbox } = exchange
  const name = operationName(params as { model: string; id: string })
  const job = await findJob(sandbox, params['id']!)
  if (job?.kind !== 'operation' || job.model !== params['model']) {
    throw new RequestProblem(404, `The operation ${name} was not found.`)
  }
  return googleReply({ name, ...outcomeOf(job, origin) }, pollHint(job, exchange))
}

/** gRPC's number for an internal error (google/rpc/code.proto). */
const internalError = 13

function outcomeOf({ id, state, scenario, films, results }: JobAt, origin: string): object {
  if (state === 'failed') return { done: true, error: { code: internalError, message: failure, details: [] } }
  if (state !== 'completed') return {}
  // File ids have only letters and digits, since Google's client extracts nothing else from URLs.
  const samples = results.map((_, index) => ({
    video: { uri: `${origin}/v1beta/files/${id}f${index}:download?alt=media` },
  }))
  const missing = scenario === 'empty' ? [] : films.slice(results.length)
  return {
    done: true,
    response: {
      '@type': 'type.googleapis.com/google.ai.generativelanguage.v1beta.PredictLongRunningResponse',
      generateVideoResponse: {
        ...(samples.length > 0 && { generatedSamples: samples }),
        ...(missing.length > 0 && {
          raiMediaFilteredCount: missing.length,
          raiMediaFilteredReasons: missing.map(() => `${withheld} You have not been charged for it.`),
        }),
      },
    },
  }
}

/** `GET /v1beta/files/{file}:download`: redirects to the same file below `/download` (wire notes, section 7). */
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

export async function serveFile(exchange: Exchange): Promise<Reply> {
  return bytesReply(drawFilm(await findFile(exchange)), 'video/mp4')
}

async function findFile({ params, sandbox }: Exchange): Promise<Film> {
  const fileId = params['file']!
  const [, id = '', index] = /^([\da-z]+)f(\d+)$/.exec(fileId) ?? []
  const job = await findJob(sandbox, id)
  if (job?.kind === 'operation' && job.state === 'completed') {
    const film = job.results[Number(index)]
    if (film !== undefined && sandbox.clock.now() < job.expiresAt!) return film
  }
  throw new RequestProblem(404, `The file ${fileId.slice(0, 100)} does not exist or has expired.`)
}
