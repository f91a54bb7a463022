import { createHash } from 'node:crypto'
import { encodeWebp } from '../../files/codecs.ts'
import type { ServedBytes } from '../http/serve-bytes.ts'
import type { Surroundings } from '../request.ts'
import type { Film } from './film-plan.ts'

/** Videos kept for the next part that is asked for; drawing one again takes a second or two. */
const kept = 4

/** Loaded when the first video is asked for. */
const drawing = () => import('./film/draw-film.ts')

/** Draws videos, one at a time, and each once as long as it is asked for. */
export interface FilmShelf {
  video(film: Film): Promise<ServedBytes>
  /** The first picture of a video. */
  still(film: Film): Promise<ServedBytes>
}

/**
 * @param signal ends what is being drawn
 * @param media `flat` for videos of one colour
 */
export function createFilmShelf(signal: AbortSignal, media: Surroundings['media']): FilmShelf {
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
