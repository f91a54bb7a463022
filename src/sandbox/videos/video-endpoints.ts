import { modelCalled } from '../../contract/known-models.ts'
import { assertServed, videoModel } from '../sandbox-models.ts'
import { assertValid, invalidField, RequestProblem } from '../http/request-problem.ts'
import { jsonReply, type Reply } from '../http/reply.ts'
import { serveBytes } from '../http/serve-bytes.ts'
import { textOf } from '../json-value.ts'
import { scenarioHeader, type Exchange } from '../sandbox.ts'
import {
  firstPrompt,
  filmSeconds,
  videoScenarioOf,
  sizeName,
  withChange,
  type Film,
  type VideoJob,
  sourceVideoId,
  availableFilms,
} from './video-job.ts'
import { checkImage } from '../images/check-images.ts'
import { jobStateAt, lookUpFacts, pollHint, videoObject } from './job-state.ts'
import { videoCreateEndpoint, videoListLimit, videoRemixEndpoint } from '../../contract/videos.ts'

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
  const [width, height] = (textOf(body['size']) || defaults.size).split('x').map(Number) as [number, number]
  const fingerprint = await checkReference(exchange)
  const seed = JSON.stringify([...exchange.seed, fingerprint])
  const film = { prompts: firstPrompt(textOf(body['prompt'])), seed, width, height, seconds }
  return startVideo(exchange, model, film, null)
}

async function startVideo(
  exchange: Exchange,
  model: string,
  film: Film,
  remixedFrom: string | null,
): Promise<Reply> {
  const { sandbox, number } = exchange
  const prompt = textOf(exchange.body['prompt'])
  const id = `video_${sandbox.videoJobs.newId(48, sandbox.seed, number)}`
  const scenario = videoScenarioOf(scenarioHeader(exchange), prompt, model)
  const job = await sandbox.videoJobs.start(
    { id, kind: 'video', model, prompt, scenario, films: [film], remixedFrom },
    sandbox.pacing,
  )
  // The reply of a remix has `error` (specification, endpoint 3).
  const object = {
    ...videoObject(job, sandbox.clock.now(), remixedFrom === null),
    ...(remixedFrom !== null && { error: null }),
  }
  return jsonReply(object, { headers: pollHint(job, sandbox.pacing), creates: true, pause: 'first' })
}

/** The image that the video starts from, as a file of the form. */
async function checkReference({ files, body }: Exchange): Promise<number> {
  const foreign = files.find(({ field }) => field !== 'input_reference')
  if (foreign !== undefined) throw invalidField(foreign.field, 'is not a file of this request')
  if (files.length > 1) throw invalidField('input_reference', 'must be one file')
  if (body['input_reference'] !== undefined) {
    throw invalidField('input_reference', 'must be a file of a form; the sandbox fetches no addresses')
  }
  const file = files[0]
  return file === undefined ? 0 : checkImage(file.head, 'input_reference', file.declaredType)
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
  if (availableFilms(source) === 0)
    throw invalidVideo(`The operation ${source.id} has no video.`, 'video_missing')
  const film = source.films[0]!
  const [width, height] = sizeName(film).split('x').map(Number) as [number, number]
  const prompts = withChange(film.prompts, textOf(body['prompt']))
  return startVideo(exchange, model, { ...film, prompts, width, height }, source.id)
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
  const id = params['id']!
  const job = await sandbox.videoJobs.find(id.split('/').at(-1)!)
  if (job !== undefined) return job
  throw new RequestProblem(404, `Video with id '${id.slice(0, 200)}' not found.`, {
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
  return jsonReply(
    videoObject(job, now, isHelper),
    lookUpFacts(job, jobStateAt(job, now), exchange.sandbox.pacing),
  )
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
  const oldestFirst = (await sandbox.videoJobs.list()).filter(({ kind }) => kind === 'video')
  const jobs = order === 'asc' ? oldestFirst : oldestFirst.toReversed()
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
  if (availableFilms(job) === 0) throw new RequestProblem(404, 'This job has no video.')
  const film = job.films[0]!
  return serveBytes(await exchange.sandbox.videos(film, variant))
}
