import { jsonType, RequestProblem } from '../http/problem.ts'
import { serveBytes } from '../http/serve-bytes.ts'
import { jsonReply, type Reply } from '../http/reply.ts'
import type { SandboxRequest } from '../request.ts'
import { parseFileId, sourceVideoId, shownFilms } from './job.ts'
import { findVideo } from './video-endpoints.ts'
import { invalidField } from './reference-image.ts'
import { jobStateAt } from './job-state.ts'
import type { VideoService } from './service.ts'

/**
 * `GET /v1/videos/{id}/content`: the video, or a still of it with `variant=thumbnail`.
 * @throws RequestProblem 400 before completion, 404, 410 after expiry, 416
 */
export async function serveContent(
  request: SandboxRequest,
  id: string,
  service: VideoService,
): Promise<Reply> {
  const job = await findVideo(id, service)
  const variant = request.query.get('variant') ?? 'video'
  if (variant !== 'video' && variant !== 'thumbnail') {
    throw invalidField('variant', 'must be video or thumbnail in the sandbox')
  }
  const now = service.clock.now()
  const { state, expiresAt = Infinity } = jobStateAt(job, now)
  if (state !== 'completed') {
    throw new RequestProblem(400, `Video is not ready yet: it is ${state}.`, {
      param: 'video_id',
      code: 'video_not_completed',
    })
  }
  if (now >= expiresAt && job.id !== sourceVideoId) {
    throw new RequestProblem(
      410,
      `The content of this video expired at ${new Date(expiresAt).toISOString()}.`,
      {
        param: 'video_id',
        code: 'video_expired',
      },
    )
  }
  if (shownFilms(job) === 0) throw new RequestProblem(404, 'This job has no video.')
  const film = job.films[0]!
  return variant === 'video'
    ? serveBytes(request, 'video', await service.films.video(film))
    : serveBytes(request, 'thumbnail', await service.films.still(film))
}

/**
 * `GET /v1beta/files/{file}:download`: sends the client on to the same file below `/download` (wire notes, section 7).
 * @throws RequestProblem 404
 */
export async function redirectToFile(
  request: SandboxRequest,
  version: string,
  fileId: string,
  service: VideoService,
): Promise<Reply> {
  await findFile(fileId, service)
  const location = `/download/${version}/files/${fileId}:download?${searchOf(request)}`
  const reply = jsonReply(
    { error: { code: 302, message: 'Unknown Error.', status: 'UNKNOWN' } },
    { headers: { 'content-type': jsonType('google'), location }, pretty: true },
  )
  return { ...reply, status: 302 }
}

/**
 * `GET /download/v1beta/files/{file}:download`: the video of a sample.
 * @throws RequestProblem 404 for what is not there, or not any more; 416
 */
export async function serveFile(
  request: SandboxRequest,
  fileId: string,
  service: VideoService,
): Promise<Reply> {
  return serveBytes(request, 'video', await service.films.video(await findFile(fileId, service)))
}

async function findFile(fileId: string, { jobs, clock }: VideoService) {
  const place = parseFileId(fileId)
  const job = place && (await jobs.find(place.id))
  if (place === undefined || job?.kind !== 'operation') throw missing(fileId)
  const { state, expiresAt = Infinity } = jobStateAt(job, clock.now())
  if (state !== 'completed' || clock.now() >= expiresAt || place.index >= shownFilms(job))
    throw missing(fileId)
  return job.films[place.index]!
}

function missing(fileId: string): RequestProblem {
  return new RequestProblem(404, `The file ${fileId.slice(0, 100)} does not exist or has expired.`)
}

/** The query without a key: addresses end up in logs. */
function searchOf({ query }: SandboxRequest): string {
  const kept = new URLSearchParams(query)
  kept.delete('key')
  return kept.toString()
}
