import { nextTurn } from '../../../context.ts'
import type { Pixels } from '../../../files/codecs.ts'
import type { Film } from '../film-plan.ts'
import { createEncoder } from './encoder.ts'
import type { CodedPicture } from './encoder.ts'
import { mp4File } from './mp4.ts'
import { framesPerSecond, panLength, panOffsets } from './pan.ts'
import { parameterSets } from './parameter-sets.ts'
import type { Format } from './parameter-sets.ts'
import { planesOf } from './planes.ts'
import { filmScene } from './scene.ts'

/** A whole picture comes this often, so that a player can seek. */
const keySeconds = 2

/**
 * Draws a video: a camera that slowly passes a scene, as H.264 in an MP4. The same film gives the same bytes.
 * @throws the reason of the signal once it is aborted
 * A second or so of work for 720p; everything else that is due has its turn between the pictures.
 */
export async function drawFilm(film: Film, signal?: AbortSignal): Promise<Uint8Array> {
  const format = formatOf(film)
  const scene = planesOf(filmScene(film, sceneWidth(film), film.height), format.rows * 16)
  await nextTurn()
  const encoder = createEncoder(scene, format)
  const pictures: CodedPicture[] = []
  for (const [frame, offset] of panOffsets(film).entries()) {
    const isKey = frame % (keySeconds * framesPerSecond) === 0
    pictures.push(isKey ? await encoder.whole(offset, nextTurn) : encoder.moved(offset))
    await nextTurn()
    signal?.throwIfAborted()
  }
  return mp4File(format, parameterSets(format), pictures)
}

/** The first picture of a video. */
export function drawStill(film: Film): Pixels {
  const { width, height } = film
  const scene = filmScene(film, sceneWidth(film), height)
  const start = panOffsets(film)[0]!
  const data = new Uint8ClampedArray(width * height * 4)
  for (let row = 0; row < height; row++) {
    const from = (row * scene.width + start) * 4
    data.set(scene.data.subarray(from, from + width * 4), row * width * 4)
  }
  return { data, width, height }
}

function formatOf({ width, height }: Film): Format {
  return { width, height, columns: Math.ceil(width / 16), rows: Math.ceil(height / 16), framesPerSecond }
}

/** All the macroblocks of every picture. */
function sceneWidth(film: Film): number {
  return formatOf(film).columns * 16 + panLength(film)
}
