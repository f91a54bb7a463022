import { createHash } from 'node:crypto'
import { encodeWebp } from '../../files/codecs.ts'
import type { ServedBytes } from '../http/serve-bytes.ts'
import type { Film } from './film-plan.ts'

/** Videos kept for the next part that is asked for; drawing one again takes a second or two. */
const kept = 4

/** Loaded when the first video is asked for. */
const drawing = () => import('./film/draw-film.ts')

/** Draws videos, each once as long as it is asked for. */
export interface FilmShelf {
  video(film: Film): Promise<ServedBytes>
  /** The first picture of a video. */
  still(film: Film): Promise<ServedBytes>
}

export function createFilmShelf(): FilmShelf {
  const drawn = new Map<string, Promise<ServedBytes>>()
  const take = (name: string, draw: () => Promise<ServedBytes>) => {
    const found = drawn.get(name) ?? draw()
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
        served(await (await drawing()).drawFilm(film), 'video/mp4'),
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
