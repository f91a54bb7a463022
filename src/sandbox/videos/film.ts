import { encodeWebp, type Pixels } from '../../files/codecs.ts'
import { plainPicture } from '../images/plain-picture.ts'
import { keyPicture, pictureSet, repeatedPicture, sequenceSet } from './h264.ts'
import { mp4File } from './mp4.ts'
import type { Film } from './video-job.ts'

const framesPerSecond = 24

/** A video that shows one picture, as H.264 in an MP4. The same film produces the same bytes. */
export function drawFilm(film: Film): Uint8Array {
  const { width, height, seconds } = film
  const pictures = Array.from({ length: seconds * framesPerSecond }, (_, frame) =>
    frame === 0 ? keyPicture(drawStill(film)) : repeatedPicture(frame, film),
  )
  const sets = { sequenceSet: sequenceSet(film), pictureSet: pictureSet() }
  return mp4File({ width, height, framesPerSecond, ...sets }, pictures)
}

/** A still of the video, as WebP. */
export function drawThumbnail(film: Film): Promise<Uint8Array> {
  return encodeWebp(drawStill(film), 80)
}

function drawStill({ text, seed, width, height, seconds }: Film): Pixels {
  return plainPicture({ seed: [seed], text, caption: `${width}x${height} ${seconds} s`, width, height })
}
