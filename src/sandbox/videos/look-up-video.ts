import { videoListLimit } from '../../contract/video-create.ts'
import { RequestProblem } from '../http/problem.ts'
import { jsonReply } from '../http/reply.ts'
import type { Reply } from '../http/reply.ts'
import type { SandboxRequest } from '../request.ts'
import type { VideoJob } from './job.ts'
import { invalidField } from './reference-image.ts'
import { sourceVideoId } from './source-video.ts'
import { standingOf } from './timeline.ts'
import { videoObject } from './video-object.ts'
import { pollHint } from './works.ts'
import type { VideoWorks } from './works.ts'

/**
 * The job of a video's id, of an operation's, or of an operation's whole name.
 * @throws RequestProblem 404
 */
export async function findVideo(id: string, { jobs }: VideoWorks): Promise<VideoJob> {
  const job = await jobs.find(id.split('/').at(-1)!)
  if (job !== undefined) return job
  throw new RequestProblem(404, `Video with id '${id.slice(0, 200)}' not found.`, {
    param: 'video_id',
    code: 'video_not_found',
  })
}

/**
 * Endpoint 5. Operations can be looked up as well, as gateways have it that cannot be asked for them (quirk 26).
 * @throws RequestProblem 404
 */
export async function getVideo(id: string, works: VideoWorks): Promise<Reply> {
  const job = await findVideo(id, works)
  const now = works.clock.now()
  const { state } = standingOf(job, now)
  const isRunning = state === 'pending' || state === 'in_progress'
  const reply = jsonReply(videoObject(job, now), {
    headers: isRunning ? pollHint(job, works) : {},
  })
  return job.scenario === 'accepted' && isRunning ? { ...reply, status: 202 } : reply
}

/**
 * `DELETE /v1/videos/{id}`.
 * @throws RequestProblem 400 for the built-in video and for one that is still running, 404
 */
export async function deleteVideo(id: string, works: VideoWorks): Promise<Reply> {
  const job = await findVideo(id, works)
  if (job.id === sourceVideoId) throw refused('The built-in video of the sandbox cannot be deleted.')
  const { state } = standingOf(job, works.clock.now())
  if (state === 'pending' || state === 'in_progress') throw refused(`The video is still ${state}.`)
  await works.jobs.remove(job.id)
  return jsonReply({ id: job.id, object: 'video.deleted', deleted: true })
}

/**
 * `GET /v1/videos`: videos and remixes, newest first unless `order=asc`.
 * @throws RequestProblem 400
 */
export async function listVideos({ query }: SandboxRequest, works: VideoWorks): Promise<Reply> {
  const limit = readLimit(query.get('limit'))
  const order = query.get('order') ?? 'desc'
  if (order !== 'asc' && order !== 'desc') throw invalidField('order', 'must be asc or desc')
  const oldestFirst = (await works.jobs.list()).filter(({ kind }) => kind === 'video')
  const jobs = order === 'asc' ? oldestFirst : oldestFirst.toReversed()
  const after = query.get('after')
  const start = after === null ? 0 : jobs.findIndex(({ id }) => id === after) + 1
  if (after !== null && start === 0) throw invalidField('after', 'must be the id of a video')
  const page = jobs.slice(start, start + limit)
  return jsonReply({
    object: 'list',
    data: page.map((job) => videoObject(job, works.clock.now())),
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: start + page.length < jobs.length,
  })
}

function readLimit(text: string | null): number {
  if (text === null) return videoListLimit.usual
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN
  if (limit <= videoListLimit.most) return limit
  throw invalidField('limit', `must be from 0 to ${videoListLimit.most}`)
}

function refused(message: string): RequestProblem {
  return new RequestProblem(400, message, { param: 'video_id', code: 'invalid_value' })
}
