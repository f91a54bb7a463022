import { modelCalled } from '../../contract/known-models.ts'
import { videoCreateEndpoint, videoListLimit, videoRemixEndpoint } from '../../contract/videos.ts'
import { bytesReply, jsonReply, type Reply } from '../http/reply.ts'
import { assertValid, invalidField, RequestProblem } from '../http/request-problem.ts'
import { checkImage } from '../images/check-images.ts'
import { sizeOf } from '../images/image-request.ts'
import { textOf } from '../json-value.ts'
import type { Exchange } from '../sandbox.ts'
import { assertServed, videoModel } from '../sandbox-models.ts'
import { drawFilm, drawThumbnail } from './film.ts'
import { filmSeed, jobStateAt, lookUpFacts, pollHint, startJob, videoObject } from './job-state.ts'
import {
  availableFilms,
  filmSeconds,
  filmText,
  sizeName,
  sourceVideo,
  sourceVideoId,
  type Film,
  type VideoJob,
} from './video-job.ts'

/** The defaults of the public service. */
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
  await checkReference(exchange)
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
  // The reply of a remix has `error` (specification, endpoint 3).
  const object = {
    ...videoObject(job, exchange.sandbox.clock.now(), remixedFrom === null),
    ...(remixedFrom !== null && { error: null }),
  }
  return jsonReply(object, { headers: pollHint(job, exchange), creates: true, pause: 'first' })
}

/** The image that the video starts from, as a file of the form. */
async function checkReference({ files, body }: Exchange): Promise<void> {
  const foreign = files.find(({ field }) => field !== 'input_reference')
  if (foreign !== undefined) throw invalidField(foreign.field, 'is not a file of this request')
  if (files.length > 1) throw invalidField('input_reference', 'must be one file')
  if (body['input_reference'] !== undefined) {
    throw invalidField('input_reference', 'must be a file of a form; the sandbox fetches no addresses')
  }
  const [file] = files
  if (file !== undefined) await checkImage(file.head, 'input_reference', file.declaredType)
}

/**
 * Endpoint 3: a new video from a completed one, which an operation may have made. Same length, same size.
 * @throws RequestProblem 400 with the state of a source that is not completed, 404
 */
export async function remixVideo(exchange: Exchange): Promise<Reply> {
  const { body } = exchange
  const model = textOf(body['model'])
  assertServed(videoRemixEndpoint, modelCalled(model, exchange.sandbox.families))
  assertValid(videoRemixEndpoint, body)
  const source = await findVideo(exchange)
  const { state } = jobStateAt(source, exchange.sandbox.clock.now())
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
function invalidVideo(message: string, code = 'invalid_value'): RequestProblem {
  return new RequestProblem(400, message, { param: 'video_id', code })
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
  throw new RequestProblem(404, `Video with id '${name.slice(0, 200)}' not found.`, {
    param: 'video_id',
    code: 'video_not_found',
  })
}

/**
 * Endpoint 5. Also accepts operations, like gateways without an endpoint for them (quirk 26).
 * @throws RequestProblem 404
 */
export async function getVideo(exchange: Exchange): Promise<Reply> {
  const job = await findVideo(exchange)
  const now = exchange.sandbox.clock.now()
  const isHelper = exchange.headers['x-stainless-poll-helper'] !== undefined
  return jsonReply(videoObject(job, now, isHelper), lookUpFacts(job, jobStateAt(job, now), exchange))
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
  const limit = readLimit(query.get('limit'))
  const order = query.get('order') ?? 'desc'
  if (order !== 'asc' && order !== 'desc') throw invalidField('order', 'must be asc or desc')
  const made = (await sandbox.videoJobs.list()).filter(({ kind }) => kind === 'video')
  const byAge = made.sort((one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1))
  const jobs = order === 'asc' ? [sourceVideo, ...byAge] : [...byAge.reverse(), sourceVideo]
  const after = query.get('after')
  const start = after === null ? 0 : jobs.findIndex(({ id }) => id === after) + 1
  if (after !== null && start === 0) throw invalidField('after', 'must be the id of a video')
  const page = jobs.slice(start, start + limit)
  return jsonReply({
    object: 'list',
    data: page.map((job) => videoObject(job, sandbox.clock.now())),
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: start + page.length < jobs.length,
  })
}

function readLimit(text: string | null): number {
  if (text === null) return videoListLimit.default
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN
  if (limit <= videoListLimit.max) return limit
  throw invalidField('limit', `must be from 0 to ${videoListLimit.max}`)
}

/**
 * `GET /v1/videos/{id}/content`: the video, or a still of it with `variant=thumbnail`.
 * @throws RequestProblem 400 before completion, 404, 410 after expiry, 416
 */
export async function serveContent(exchange: Exchange): Promise<Reply> {
  const job = await findVideo(exchange)
  const variant = exchange.query.get('variant') ?? 'video'
  if (variant !== 'video' && variant !== 'thumbnail') {
    throw invalidField('variant', 'must be video or thumbnail in the sandbox')
  }
  const now = exchange.sandbox.clock.now()
  const { state, expiresAt = Infinity } = jobStateAt(job, now)
  if (state !== 'completed') {
    throw invalidVideo(`Video is not ready yet: it is ${state}.`, 'video_not_completed')
  }
  if (now >= expiresAt && job.id !== sourceVideoId) {
    const expiry = new Date(expiresAt).toISOString()
    throw new RequestProblem(410, `The content of this video expired at ${expiry}.`, {
      param: 'video_id',
      code: 'video_expired',
    })
  }
  const [film] = availableFilms(job)
  if (film === undefined) throw new RequestProblem(404, 'This job has no video.')
  return variant === 'video'
    ? bytesReply(drawFilm(film), 'video/mp4')
    : bytesReply(await drawThumbnail(film), 'image/webp')
}
