import type { Pixels } from '../../../files/codecs.ts'
import { repaint } from '../../images/pixels.ts'
import { drawScene, sceneColours } from '../../images/scene/draw-scene.ts'
import { seededRandom } from '../../seeded-random.ts'
import type { Film } from '../video-job.ts'
import {
  keyPicture,
  maxMacroblocks,
  movedPicture,
  pictureSet,
  sequenceSet,
  type Format,
  type Plane,
  type Planes,
} from './h264.ts'
import { mp4File } from './mp4.ts'

const framesPerSecond = 24

/**
 * The camera's speed: in heights or widths of the picture (the shorter one) per second, and the maximum distance in
 * widths.
 */
const speed = 0.07
const maxWidths = 0.4

/** How much of the old colours a remix replaces. No other scene shows through, so the shapes stay. */
const change = { colours: 0.85, scene: 0 } as const

/** Larger scenes, for video in 4k, are drawn at half size: the full size would block other requests. */
const maxPixels = 5_000_000

/**
 * Draws a video: a camera pans slowly over a scene, encoded as H.264 in an MP4. The same film produces the same bytes.
 * Takes a tenth of a second for 720p.
 */
export function drawFilm(film: Film): Uint8Array {
  const format = formatOf(film)
  return filmFile(format, planesOf(filmScene(film), format.rows * 16), panOffsets(film))
}

/** A video of one colour, for tests that do not need a real one. */
export function flatFilm(film: Film): Uint8Array {
  const { width, height } = film
  const format = { width, height, columns: Math.ceil(width / 16), rows: Math.ceil(height / 16) }
  const random = seededRandom(film.seed, ...film.prompts)
  const plane = (blockSize: number): Plane => ({
    width: format.columns * blockSize,
    samples: new Uint8Array(format.columns * format.rows * blockSize ** 2).fill(
      32 + Math.floor(random() * 192),
    ),
  })
  const offsets = Array.from({ length: film.seconds * framesPerSecond }, () => 0)
  return filmFile(format, { luma: plane(16), chroma: [plane(8), plane(8)] }, offsets)
}

/** @param offsets the first column of the scene in each picture, from 0 and never decreasing */
function filmFile(format: Format, scene: Planes, offsets: readonly number[]): Uint8Array {
  const pictures = offsets.map((offset, frame) =>
    frame === 0 ? keyPicture(scene, format) : movedPicture(frame, offset - offsets[frame - 1]!, format),
  )
  const { width, height } = format
  const sets = { sequenceSet: sequenceSet(format), pictureSet: pictureSet() }
  return mp4File({ width, height, framesPerSecond, ...sets }, pictures)
}

/** The first picture of a video. */
export function drawStill(film: Film): Pixels {
  const { width, height } = film
  const scene = filmScene(film)
  const data = new Uint8ClampedArray(width * height * 4)
  for (let row = 0; row < height; row++) {
    const from = row * scene.width * 4
    data.set(scene.data.subarray(from, from + width * 4), row * width * 4)
  }
  return { data, width, height }
}

/**
 * Draws everything that the camera shows: the scene of the first prompt, wider than the video, in the colours of the
 * last change, so that a remix differs but keeps the shapes.
 */
export function filmScene(film: Film): Pixels {
  const { prompts, seed, height } = film
  const width = formatOf(film).columns * 16
  const plan = (prompt: string) => ({ seed: [seed], prompt, isVivid: true })
  const [first, ...changes] = prompts
  const scale = width * height > maxPixels ? 2 : 1
  const scene = drawScene({ ...plan(first), width: width / scale, height: height / scale, detail: 2 })
  const painted = changes.reduce(
    (picture, prompt) =>
      repaint(picture, { colours: sceneColours(plan(prompt)), scene: picture, strength: change }),
    scene,
  )
  return scale === 1 ? painted : doubled(painted)
}

/** Doubles width and height. */
function doubled({ data, width, height }: Pixels): Pixels {
  const from = new Uint32Array(data.buffer, data.byteOffset, width * height)
  const to = new Uint32Array(width * height * 4)
  for (let y = 0; y < height; y++) {
    const row = y * width * 4
    for (let x = 0; x < width; x++) to.fill(from[y * width + x]!, row + x * 2, row + x * 2 + 2)
    to.copyWithin(row + width * 2, row, row + width * 2)
  }
  return { data: new Uint8ClampedArray(to.buffer), width: width * 2, height: height * 2 }
}

/** The macroblocks of everything that the camera shows. */
function formatOf(film: Film): Format {
  const { width, height } = film
  return { width, height, columns: Math.ceil((width + panLength(film)) / 16), rows: Math.ceil(height / 16) }
}

/** Columns of the scene beyond the first picture; an even number. */
function panLength({ width, height, seconds }: Film): number {
  const room = Math.floor(maxMacroblocks / Math.ceil(height / 16)) * 16 - width
  const length = Math.min(speed * seconds * Math.min(width, height), maxWidths * width, room)
  return Math.max(0, Math.round(length / 2) * 2)
}

/** The first column of each picture, from 0, with smooth acceleration and deceleration. */
export function panOffsets(film: Film): number[] {
  const length = panLength(film)
  const frames = film.seconds * framesPerSecond
  return Array.from({ length: frames }, (_, frame) => {
    const share = (1 - Math.cos((Math.PI * frame) / (frames - 1))) / 2
    return Math.round((share * length) / 2) * 2
  })
}

/**
 * Pixels as video has them (ITU-R BT.709, limited range), colour at half the width and height.
 * @param height even; where it is more than that of the picture, the last row is repeated
 */
export function planesOf({ data, width, height: rows }: Pixels, height: number): Planes {
  const luma: Plane = { width, samples: new Uint8Array(width * height) }
  const half = (): Plane => ({ width: width / 2, samples: new Uint8Array((width * height) / 4) })
  const [blues, reds] = [half(), half()]
  for (let y = 0; y < height; y++) {
    const source = Math.min(y, rows - 1) * width * 4
    for (let x = 0; x < width; x++) {
      const at = source + x * 4
      luma.samples[y * width + x] =
        16.5 + 0.182586 * data[at]! + 0.614231 * data[at + 1]! + 0.062007 * data[at + 2]!
    }
  }
  for (let y = 0; y < height / 2; y++) {
    const upper = Math.min(2 * y, rows - 1) * width * 4
    const lower = Math.min(2 * y + 1, rows - 1) * width * 4
    for (let x = 0; x < width / 2; x++) {
      const mean = (channel: number) => {
        const [above, below] = [upper + x * 8 + channel, lower + x * 8 + channel]
        return (data[above]! + data[above + 4]! + data[below]! + data[below + 4]!) / 4
      }
      const [red, green, blue] = [mean(0), mean(1), mean(2)]
      const at = (y * width) / 2 + x
      blues.samples[at] = 128.5 - 0.100644 * red - 0.338572 * green + 0.439216 * blue
      reds.samples[at] = 128.5 + 0.439216 * red - 0.398942 * green - 0.040274 * blue
    }
  }
  return { luma, chroma: [blues, reds] }
}
