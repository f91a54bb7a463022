import { encodeWebp, type Pixels } from '../../../files/codecs.ts'
import { createBoundedMap } from '../../bounded-map.ts'
import { servedBytes, type ServedBytes } from '../../http/serve-bytes.ts'
import { plainPicture } from '../../images/plain-picture.ts'
import type { Film } from '../video-job.ts'
import { keyPicture, pictureSet, repeatedPicture, sequenceSet } from './h264.ts'
import { mp4File } from './mp4.ts'

const framesPerSecond = 24

type FilmVariant = 'video' | 'thumbnail'

export type VideoCache = ReturnType<typeof createVideoCache>

/** Draws videos and their stills, and keeps the most recently used ones for further range requests. */
export function createVideoCache() {
  const kept = createBoundedMap<Promise<ServedBytes>>(4)
  return (film: Film, variant: FilmVariant) => {
    const name = `${variant} ${JSON.stringify(film)}`
    const served = kept.get(name) ?? draw(film, variant)
    // Mark it as the most recently used.
    kept.set(name, served)
    return served
  }
}

async function draw(film: Film, variant: FilmVariant): Promise<ServedBytes> {
  if (variant === 'video') return servedBytes(drawFilm(film), 'video/mp4')
  return servedBytes(await encodeWebp(drawStill(film), 80), 'image/webp')
}

/** A video that shows one picture, as H.264 in an MP4. The same film produces the same bytes. */
export function drawFilm(film: Film): Uint8Array {
  const { width, height, seconds } = film
  const pictures = Array.from({ length: seconds * framesPerSecond }, (_, frame) =>
    frame === 0 ? keyPicture(drawStill(film)) : repeatedPicture(frame, film),
  )
  const sets = { sequenceSet: sequenceSet(film), pictureSet: pictureSet() }
  return mp4File({ width, height, framesPerSecond, ...sets }, pictures)
}

/** The picture of a video: the prompts say what a remix has changed. */
function drawStill({ prompts, seed, width, height, seconds }: Film): Pixels {
  const caption = `${width}x${height} ${seconds} s`
  return plainPicture({ seed: [seed], text: prompts.join(' / '), caption, width, height })
}
