import { modelCalled } from '../../contract/known-models.ts'
import {
  videoCreateEndpoint,
  videoLifetimeMinutes,
  videoListLimit,
  videoRemixEndpoint,
} from '../../contract/videos.ts'
import { bytesReply, jsonReply, type Reply } from '../http/reply.ts'
import { assertValid, invalidField, RequestProblem } from '../http/request-problem.ts'
import { sizeOf } from '../images/image-request.ts'
import { textOf } from '../json-value.ts'
import type { Exchange } from '../sandbox.ts'
import { assertServed, videoModel } from '../sandbox-models.ts'
import { drawFilm, drawThumbnail } from './film.ts'
import { filmSeed, pollHint, startJob } from './start-job.ts'
import {
  availableFilms,
  filmSeconds,
  filmText,
  jobStateAt,
  sourceVideo,
  sourceVideoId,
  type Film,
  type VideoJob,
} from './video-job.ts'

const defaults = { seconds: '4', size: '720x1280' } as const

/**
 * `POST /v1/videos`: a video from a prompt (wire notes, "Videos").
 * @throws RequestProblem 400
 */
export async function createVideo(exchange: Exchange): Promise<Reply> {
  const { body } = exchange
  const model = textOf(body['model']) || videoModel.id
  assertServed(videoCreateEndpoint, modelCalled(model, exchange.sandbox.families))
  assertValid(videoCreateEndpoint, body)
  const seconds = filmSeconds(body['seconds'] ?? defaults.seconds, 'seconds')
  const size = sizeOf(textOf(body['size']) || defaults.size)!
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

/**
 * `GET /v1/videos`: videos and remixes, newest first unless `order=asc`.
 * @throws RequestProblem 400
 */
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
