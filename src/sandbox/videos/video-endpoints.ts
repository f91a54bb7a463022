import { modelCalled } from '../../contract/known-models.ts'
import {
  maxVideoPromptLength,
  videoCreateEndpoint,
  videoLifetimeMinutes,
  videoListLimit,
  videoOperationEndpoint,
  videoRemixEndpoint,
  videoResolutions,
} from '../../contract/videos.ts'
import { decodeBase64 } from '../../files/decode-base64.ts'
import { mediaScenario } from '../answer/answer.ts'
import { bytesReply, googleReply, jsonReply, type Reply } from '../http/reply.ts'
import { RequestProblem, assertValid, invalidField } from '../http/request-problem.ts'
import { sizeOf } from '../images/image-request.ts'
import { numberOf, objectOf, objectsOf, textOf, type JsonObject } from '../json-value.ts'
import { assertServed, videoModel } from '../sandbox-models.ts'
import type { Exchange } from '../sandbox.ts'
import { seededHex } from '../seeded-random.ts'
import { drawFilm, drawThumbnail } from './film.ts'
import {
  availableFilms,
  filmSeconds,
  filmText,
  jobStateAt,
  maxFilmSide,
  minFilmSide,
  sourceVideo,
  sourceVideoId,
  type Film,
  type VideoJob,
  videoScenarios,
} from './video-job.ts'

/**
 * Starts a job, which is queued immediately.
 * @param asked the prompts, which may ask for a scenario
 * @throws RequestProblem 400 in scenarios that reject the request
 */
async function startJob(
  { sandbox, number, scenario: header }: Exchange,
  job: Pick<VideoJob, 'kind' | 'model' | 'prompt' | 'remixedFrom' | 'films'>,
  asked = job.prompt,
): Promise<VideoJob> {
  const { videoJobs, seed, clock, pacing } = sandbox
  const scenario =
    mediaScenario(videoScenarios, 'video_generation_user_error', header, asked, job.model) ?? null
  const digits = seededHex(48, seed, 'video', number, ...videoJobs.salt())
  const id = job.kind === 'video' ? `video_${digits}` : digits.slice(0, 20)
  const { pendingMs, runningMs } = pacing
  const started = { id, ...job, scenario, createdAt: clock.now(), pendingMs, runningMs }
  await videoJobs.keep(started)
  // Removes what is over.
  await videoJobs.list()
  return started
}

/** What determines a film besides its text: all of the request, and how often it came before. */
function filmSeed({ seed, digest }: Exchange, ...more: readonly number[]): Film['seed'] {
  return JSON.stringify([...seed, digest, ...more])
}

/** When to ask for a job again that is not over, in the headers that the clients of either service read. */
function pollHint(job: VideoJob, { sandbox }: Exchange): Pick<Reply, 'headers'> {
  const { state } = jobStateAt(job, sandbox.clock.now())
  if (state !== 'pending' && state !== 'in_progress') return { headers: {} }
  const name = job.kind === 'video' ? 'openai-poll-after-ms' : 'retry-after-ms'
  return { headers: { [name]: String(sandbox.pacing.pollMs) } }
}

const videoDefaults = { seconds: '4', size: '720x1280' } as const

/** `POST /v1/videos`: a video from a prompt (wire notes, "Videos"). */
export async function createVideo(exchange: Exchange): Promise<Reply> {
  const { body } = exchange
  const model = textOf(body['model']) || videoModel
  assertServed(videoCreateEndpoint, modelCalled(model, exchange.sandbox.families))
  assertValid(videoCreateEndpoint, body)
  const seconds = filmSeconds(body['seconds'] ?? videoDefaults.seconds, 'seconds')
  const size = sizeOf(textOf(body['size']) || videoDefaults.size)!
  checkReference(exchange)
  const film = { text: filmText(textOf(body['prompt'])), seed: filmSeed(exchange), ...size, seconds }
  return startVideo(exchange, model, film, null)
}

async function startVideo(
  exchange: Exchange,
  model: string,
  film: Film,
  remixedFrom: string | null,
): Promise<Reply> {
  const prompt = textOf(exchange.body['prompt'])
  const job = await startJob(exchange, { kind: 'video', model, prompt, films: [film], remixedFrom })
  const object = videoObject(job, exchange.sandbox.clock.now(), remixedFrom === null)
  // The reply of a remix has `error` (specification, endpoint 3).
  const reply = remixedFrom === null ? object : { ...object, error: null }
  return jsonReply(reply, { ...pollHint(job, exchange), creates: true, pause: 'first' })
}

function checkReference({ files, body }: Exchange): void {
  const foreign = files.find(({ field }) => field !== 'input_reference')
  if (foreign !== undefined) throw invalidField(foreign.field, 'is not a file of this request')
  if (files.length > 1) throw invalidField('input_reference', 'must be one file')
  if (body['input_reference'] !== undefined) {
    throw invalidField('input_reference', 'must be a file of a form; the sandbox fetches no addresses')
  }
}

/**
 * Endpoint 3: a new video from a completed one, which an operation may have made. Same length, same size.
 * @throws RequestProblem 400 with the state of a source that is not completed, 404
 */
export async function remixVideo(exchange: Exchange): Promise<Reply> {
  const { body, sandbox } = exchange
  const model = textOf(body['model'])
  assertServed(videoRemixEndpoint, modelCalled(model, sandbox.families))
  assertValid(videoRemixEndpoint, body)
  const source = await findVideo(exchange)
  const { state } = jobStateAt(source, sandbox.clock.now())
  if (state !== 'completed') {
    throw invalidVideo(`The video ${source.id} is not completed: it is ${state}.`, 'video_not_completed')
  }
  if (availableFilms(source).length === 0)
    throw invalidVideo(`The operation ${source.id} has no video.`, 'video_missing')
  const film = source.films[0]!
  const text = filmText(film.text, textOf(body['prompt']))
  return startVideo(exchange, model, { ...film, ...sizeOf(sizeName(film)), text }, source.id)
}

/** An existing video in the wrong state for the request. */
function invalidVideo(message: string, code = 'invalid_value', status = 400): RequestProblem {
  return new RequestProblem(status, message, { param: 'video_id', code })
}

/**
 * The job of a video's id, of an operation's, or of an operation's whole name.
 * @throws RequestProblem 404
 */
async function findVideo({ params, sandbox }: Exchange): Promise<VideoJob> {
  const name = params['id']!
  const id = name.split('/').at(-1)!
  const job = id === sourceVideoId ? sourceVideo : await sandbox.videoJobs.find(id)
  if (job !== undefined) return job
  throw invalidVideo(`Video with id '${name.slice(0, 200)}' not found.`, 'video_not_found', 404)
}

/**
 * Endpoint 5. Also accepts operations, like gateways without an endpoint for them (quirk 26).
 * @throws RequestProblem 404
 */
export async function getVideo(exchange: Exchange): Promise<Reply> {
  const job = await findVideo(exchange)
  const isHelper = exchange.headers['x-stainless-poll-helper'] !== undefined
  return jsonReply(videoObject(job, exchange.sandbox.clock.now(), isHelper), pollHint(job, exchange))
}

/**
 * `DELETE /v1/videos/{id}`.
 * @throws RequestProblem 400 for the built-in video and for one that is still running, 404
 */
export async function deleteVideo(exchange: Exchange): Promise<Reply> {
  const job = await findVideo(exchange)
  if (job.id === sourceVideoId) throw invalidVideo('The built-in video of the sandbox cannot be deleted.')
  const { state } = jobStateAt(job, exchange.sandbox.clock.now())
  if (state === 'pending' || state === 'in_progress') throw invalidVideo(`The video is still ${state}.`)
  await exchange.sandbox.videoJobs.remove(job.id)
  return jsonReply({ id: job.id, object: 'video.deleted', deleted: true })
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
    data: page.map((job) => videoObject(job, sandbox.clock.now())),
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: start + page.length < jobs.length,
  })
}

/**
 * `GET /v1/videos/{id}/content`: the video, or a still of it with `variant=thumbnail`.
 * @throws RequestProblem 400 before completion, 404, 410 after expiry
 */
export async function serveContent(exchange: Exchange): Promise<Reply> {
  const job = await findVideo(exchange)
  const variant = exchange.query.get('variant') ?? 'video'
  if (variant !== 'video' && variant !== 'thumbnail') {
    throw invalidField('variant', 'must be video or thumbnail in the sandbox')
  }
  const now = exchange.sandbox.clock.now()
  const { state, expiresAt = Infinity } = jobStateAt(job, now)
  if (state !== 'completed')
    throw invalidVideo(`Video is not ready yet: it is ${state}.`, 'video_not_completed')
  if (now >= expiresAt && job.id !== sourceVideoId) {
    const expiry = new Date(expiresAt).toISOString()
    throw invalidVideo(`The content of this video expired at ${expiry}.`, 'video_expired', 410)
  }
  const [film] = availableFilms(job)
  if (film === undefined) throw new RequestProblem(404, 'This job has no video.')
  return variant === 'video'
    ? bytesReply(drawFilm(film), 'video/mp4')
    : bytesReply(await drawThumbnail(film), 'image/webp')
}

/**
 * The Video object. What is not set yet is left out: the specification calls no field nullable.
 * @param saysQueued whether what is pending is `queued`: the poll helpers of the official clients know no other word
 */
function videoObject(job: VideoJob, now: number, saysQueued = false): object {
  const { id, model, prompt, films, scenario, remixedFrom, createdAt } = job
  const { state, progress, completedAt, expiresAt } = jobStateAt(job, now)
  const film = films[0]!
  // The built-in video never expires: its result is always available for another hour.
  const lifetimeEnd = id === sourceVideoId ? now + videoLifetimeMinutes * 60_000 : expiresAt
  return {
    id,
    object: 'video',
    created_at: Math.floor(createdAt / 1000),
    ...(completedAt !== undefined && { completed_at: Math.floor(completedAt / 1000) }),
    model,
    status: saysQueued && state === 'pending' ? 'queued' : state,
    progress,
    ...(lifetimeEnd !== undefined && { expires_at: Math.floor(lifetimeEnd / 1000) }),
    prompt,
    seconds: String(film.seconds),
    size: sizeName(film),
    ...(remixedFrom !== null && { remixed_from_video_id: remixedFrom }),
    ...(state === 'failed' && { error: scenario === 'filtered' ? withheldError : failedError }),
  }
}

/** The size word of the Video object, which has one for each way up (specification, resource Video). */
function sizeName({ width, height }: Film): string {
  const name = `${width}x${height}`
  if (videoCreateEndpoint.fields['size']?.values?.includes(name)) return name
  return width > height ? '1280x720' : '720x1280'
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

const operationDefaults = { seconds: 8, resolution: '720p', count: 1 } as const

/** Maximum videos of all instances together; the specification sets no limit, but a stand-in should. */
const maxFilms = 16

/** Endpoint 7: starts an operation; the reply contains only its name (wire notes, section 7). */
export async function createOperation(exchange: Exchange): Promise<Reply> {
  const { body, params, sandbox } = exchange
  assertValid(videoOperationEndpoint, body)
  const instances = objectsOf(body['instances'])
  const parameters = objectOf(body['parameters'])
  const shape = readShape(parameters)
  const count = numberOf(parameters['sampleCount']) ?? operationDefaults.count
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
  const seconds = filmSeconds(
    parameters['durationSeconds'] ?? operationDefaults.seconds,
    'parameters.durationSeconds',
  )
  const resolution = textOf(parameters['resolution']).toLowerCase()
  const known = Object.hasOwn(videoResolutions, resolution) ? resolution : operationDefaults.resolution
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
