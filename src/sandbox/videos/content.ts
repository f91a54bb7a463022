import { invalidField, RequestProblem } from '../http/request-problem.ts'
import { serveBytes } from '../http/serve-bytes.ts'
import { googleReply, type Reply } from '../http/reply.ts'
import type { SandboxRequest } from '../request.ts'
import { parseFileId, sourceVideoId, shownFilms, type Film } from './video-job.ts'
import { jobStateAt } from './job-state.ts'
import type { VideoService } from './service.ts'
import { findVideo, invalidVideo } from './video-endpoints.ts'

/**
 * `GET /v1/videos/{id}/content`: the video, or a still of it with `variant=thumbnail`.
 * @throws RequestProblem 400 before completion, 404, 410 after expiry, 416
 */
export async function serveContent(request: SandboxRequest, service: VideoService): Promise<Reply> {
  const job = await findVideo(request, service)
  const variant = request.query.get('variant') ?? 'video'
  if (variant !== 'video' && variant !== 'thumbnail') {
    throw invalidField('variant', 'must be video or thumbnail in the sandbox')
  }
  const now = service.clock.now()
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
  if (shownFilms(job) === 0) throw new RequestProblem(404, 'This job has no video.')
  const film = job.films[0]!
  return serveBytes(request, await service.films[variant === 'video' ? 'video' : 'still'](film))
}

/**
 * `GET /v1beta/files/{file}:download`: sends the client on to the same file below `/download` (wire notes, section 7).
 * @throws RequestProblem 404
 */
export async function redirectToFile(request: SandboxRequest, service: VideoService): Promise<Reply> {
  await findFile(request, service)
  const { version, file } = request.params
  // Without a key: addresses end up in logs.
  const query = new URLSearchParams(request.query)
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
export async function serveFile(request: SandboxRequest, service: VideoService): Promise<Reply> {
  return serveBytes(request, await service.films.video(await findFile(request, service)))
}

async function findFile({ params }: SandboxRequest, { jobs, clock }: VideoService): Promise<Film> {
  const fileId = params['file']!
  const place = parseFileId(fileId)
  const job = place && (await jobs.find(place.id))
  if (place !== undefined && job?.kind === 'operation') {
    const { state, expiresAt = Infinity } = jobStateAt(job, clock.now())
    const isThere = state === 'completed' && clock.now() < expiresAt && place.index < shownFilms(job)
    if (isThere) return job.films[place.index]!
  }
  throw new RequestProblem(404, `The file ${fileId.slice(0, 100)} does not exist or has expired.`)
}
