import type { SandboxRequest, SandboxContext } from '../request.ts'
import { seededHex } from '../seeded-random.ts'
import type { VideoJob, Film } from './job.ts'
import type { JobStore } from './job-store.ts'
import type { Pacing } from './job-state.ts'
import { createHash } from 'node:crypto'
import { encodeWebp } from '../../files/codecs.ts'
import type { ServedBytes } from '../http/serve-bytes.ts'

/** What the video endpoints of one sandbox share. */
export interface VideoService extends SandboxContext {
  readonly jobs: JobStore
  readonly films: FilmCache
  readonly pacing: Pacing
}

/** Repeatable hexadecimal digits for the id of a new job. */
export function newId(length: number, { number }: SandboxRequest, { seed, jobs }: VideoService): string {
  return seededHex(length, seed, 'video', number, jobs.idSalt())
}

/** Takes a job in; it begins to wait at once. */
export async function startJob(
  job: Omit<VideoJob, 'createdAt' | 'pendingMs' | 'runningMs'>,
  { jobs, pacing, clock }: VideoService,
): Promise<VideoJob> {
  const { pendingMs, runningMs } = pacing
  const started = { ...job, createdAt: clock.now(), pendingMs, runningMs }
  await jobs.add(started)
  return started
}

/** When a job that still runs should be asked for again, as the clients of either service read it. */
export function pollHint({ kind }: VideoJob, { pacing }: VideoService): Readonly<Record<string, string>> {
  return { [kind === 'video' ? 'openai-poll-after-ms' : 'retry-after-ms']: String(pacing.pollMs) }
}

/** Videos kept for the next part that is asked for; drawing one again takes a second or two. */
const kept = 4

/** Loaded when the first video is asked for. */
const drawing = () => import('./film/draw-film.ts')

/** Draws videos, one at a time, and each once as long as it is asked for. */
interface FilmCache {
  video(film: Film): Promise<ServedBytes>
  /** The first picture of a video. */
  still(film: Film): Promise<ServedBytes>
}

/**
 * @param signal ends what is being drawn
 * @param media `flat` for videos of one colour
 */
export function createFilmCache(signal: AbortSignal, media: SandboxContext['media']): FilmCache {
  const drawn = new Map<string, Promise<ServedBytes>>()
  const draw = ({ drawFilm, flatFilm }: Awaited<ReturnType<typeof drawing>>, film: Film) =>
    media === 'flat' ? flatFilm(film) : drawFilm(film, signal)
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = (draw: () => Promise<ServedBytes>) => {
    const mine = last.then(draw, draw)
    last = mine.catch(() => {})
    return mine
  }
  const take = (name: string, draw: () => Promise<ServedBytes>) => {
    const found = drawn.get(name) ?? inTurn(draw)
    // The last one taken is the last one to go.
    drawn.delete(name)
    drawn.set(name, found)
    for (const oldest of drawn.keys()) {
      if (drawn.size <= kept) break
      drawn.delete(oldest)
    }
    return found
  }
  return {
    video: (film) =>
      take(`video ${JSON.stringify(film)}`, async () =>
        served(await draw(await drawing(), film), 'video/mp4'),
      ),
    still: (film) =>
      take(`still ${JSON.stringify(film)}`, async () =>
        served(await encodeWebp((await drawing()).drawStill(film), 80), 'image/webp'),
      ),
  }
}

function served(bytes: Uint8Array, mediaType: string): ServedBytes {
  return { bytes, mediaType, etag: `"${createHash('sha256').update(bytes).digest('hex')}"` }
}
