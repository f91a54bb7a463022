import { encodeWebp } from '../../files/codecs.ts'
import { createBoundedMap } from '../bounded-map.ts'
import type { ServerContext } from '../http/handle-request.ts'
import { servedBytes, type ServedBytes } from '../http/serve-bytes.ts'
import type { SandboxRequest, SandboxContext } from '../request.ts'
import { seededHex } from '../seeded-random.ts'
import type { VideoJob, Film } from './video-job.ts'
import { pacingOf } from '../job-pacing.ts'
import type { JobState } from './job-state.ts'
import { createJobStore } from './video-job-store.ts'

export type VideoService = ReturnType<typeof createVideoService>

/**
 * The state shared by the video endpoints of a sandbox.
 * @param folder where jobs are kept; undefined for memory
 */
export function createVideoService(server: ServerContext, folder: string | undefined) {
  const jobs = createJobStore(server, folder)
  return { ...server, jobs, films: createFilmCache(server.media), pacing: pacingOf(server.latency) }
}

/** Repeatable hexadecimal digits for the id of a new job. */
export function newId(length: number, { number }: SandboxRequest, { seed, jobs }: VideoService): string {
  return seededHex(length, seed, 'video', number, jobs.idSalt())
}

/** Adds a job, which is queued immediately. */
export async function startJob(
  job: Omit<VideoJob, 'createdAt' | 'pendingMs' | 'runningMs'>,
  { jobs, pacing, clock }: VideoService,
): Promise<VideoJob> {
  const { pendingMs, runningMs } = pacing
  const started = { ...job, createdAt: clock.now(), pendingMs, runningMs }
  await jobs.add(started)
  return started
}

/** When to poll a running job again, in the headers that the clients of either service read. */
export function pollHint({ kind }: VideoJob, { pacing }: VideoService): Readonly<Record<string, string>> {
  return { [kind === 'video' ? 'openai-poll-after-ms' : 'retry-after-ms']: String(pacing.pollMs) }
}

/** The headers for the look-up of a running job; none for one that has ended. */
export function lookUpFacts(job: VideoJob, { state }: JobState, service: VideoService) {
  if (state !== 'pending' && state !== 'in_progress') return {}
  return { headers: pollHint(job, service), status: job.scenario === 'accepted' ? 202 : 200 }
}

/** Maximum number of cached videos and stills, for further range requests. */
const kept = 4

/** Loaded with the first request for a video. */
const drawing = () => import('./film/draw-film.ts')

/**
 * Draws videos and caches the most recently used ones.
 * @param media `flat` for videos of one colour
 */
function createFilmCache(media: SandboxContext['media']) {
  const drawn = createBoundedMap<Promise<ServedBytes>>(kept)
  const take = (name: string, draw: () => Promise<ServedBytes>) => {
    const found = drawn.get(name) ?? draw()
    // Mark it as the most recently used.
    drawn.set(name, found)
    return found
  }
  return {
    video: (film: Film) =>
      take(`video ${JSON.stringify(film)}`, async () => {
        const { drawFilm, flatFilm } = await drawing()
        return servedBytes(media === 'flat' ? flatFilm(film) : drawFilm(film), 'video/mp4')
      }),
    /** The first picture of a video. */
    still: (film: Film) =>
      take(`still ${JSON.stringify(film)}`, async () =>
        servedBytes(await encodeWebp((await drawing()).drawStill(film), 80), 'image/webp'),
      ),
  }
}
