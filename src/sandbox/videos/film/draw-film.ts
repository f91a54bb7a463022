import { nextTurn } from '../../../context.ts'
import type { Pixels } from '../../../files/codecs.ts'
import { repaint } from '../../images/pixels.ts'
import { drawScene, sceneColours } from '../../images/scene/draw-scene.ts'
import { seededRandom } from '../../seeded-random.ts'
import type { Film } from '../job.ts'
import { createEncoder, pictureSet, sequenceSet, type Format } from './encoder.ts'
import type { Plane, Planes } from './macroblock.ts'
import { mp4File } from './mp4.ts'

export const framesPerSecond = 24

/** How far the camera goes: in heights or widths of the picture (the shorter one) a second, and at most in widths. */
const speed = 0.07
const mostWidths = 0.4

/** How much of the old colours a remix takes away. Nothing of another scene shows through: the shape stays. */
const change = { colours: 0.85, scene: 0 } as const

/** A larger scene, of a video in 4k, is drawn at half its size: the whole would hold up other requests. */
const mostPixels = 5_000_000

/**
 * Draws a video: a camera that slowly passes a scene, as H.264 in an MP4. The same film gives the same bytes.
 * A second or less of work for 720p; everything else that is due has its turn between the pictures.
 * @throws the reason of the signal once it is aborted
 */
export async function drawFilm(film: Film, signal?: AbortSignal): Promise<Uint8Array> {
  const format = formatOf(film)
  const scene = planesOf(filmScene(film), format.rows * 16)
  const encode = createEncoder(scene, format)
  const pictures: Uint8Array[][] = []
  for (const offset of panOffsets(film)) {
    await nextTurn()
    signal?.throwIfAborted()
    pictures.push(await encode(offset, nextTurn))
  }
  return filmFile(format, pictures)
}

/** A video of one colour, whose pictures are coded only once: for tests of all that is around a video. */
export async function flatFilm(film: Film): Promise<Uint8Array> {
  const format = formatOf(film)
  const light = 32 + Math.floor(seededRandom(film.seed, ...film.prompts)() * 192)
  const plane = (width: number, height: number, sample: number): Plane => ({
    width,
    samples: new Uint8Array(width * height).fill(sample),
  })
  const [width, height] = [format.columns * 16, format.rows * 16]
  const colour = plane(width / 2, height / 2, 128)
  const encode = createEncoder({ luma: plane(width, height, light), chroma: [colour, colour] }, format)
  // Two pictures one after the other have to differ in their numbers.
  const pictures = [await encode(0), await encode(0)]
  const frames = film.seconds * framesPerSecond
  return filmFile(
    format,
    Array.from({ length: frames }, (_, frame) => pictures[frame % 2]!),
  )
}

function formatOf({ width, height }: Film): Format {
  return { width, height, columns: Math.ceil(width / 16), rows: Math.ceil(height / 16) }
}

function filmFile(format: Format, pictures: readonly (readonly Uint8Array[])[]): Uint8Array {
  const { width, height } = format
  const sets = { sequenceSet: sequenceSet(format), pictureSet: pictureSet() }
  return mp4File({ width, height, framesPerSecond, ...sets }, pictures)
}

/** The first picture of a video. */
export function drawStill(film: Film): Pixels {
  const { width, height } = film
  const scene = filmScene(film)
  const start = panOffsets(film)[0]!
  const data = new Uint8ClampedArray(width * height * 4)
  for (let row = 0; row < height; row++) {
    const from = (row * scene.width + start) * 4
    data.set(scene.data.subarray(from, from + width * 4), row * width * 4)
  }
  return { data, width, height }
}

/**
 * Draws what the camera passes: the scene of the first prompt, wider than the video, in the colours of the last change,
 * so that a remix is another picture and can still be known by its shape.
 */
export function filmScene(film: Film): Pixels {
  const { prompts, seed, height } = film
  // All the macroblocks of every picture.
  const width = Math.ceil(film.width / 16) * 16 + panLength(film)
  const plan = (prompt: string) => ({ seed: [seed], prompt, isVivid: true })
  const [first, ...changes] = prompts
  const scale = width * height > mostPixels ? 2 : 1
  const scene = drawScene({ ...plan(first), width: width / scale, height: height / scale, detail: 2 })
  const painted = changes.reduce(
    (picture, prompt) =>
      repaint(picture, { colours: sceneColours(plan(prompt)), scene: picture, strength: change }),
    scene,
  )
  return scale === 1 ? painted : doubled(painted)
}

/** Every pixel four times. */
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

/** Columns of the scene that the camera passes beyond the first picture; even. */
function panLength({ width, height, seconds }: Film): number {
  const length = Math.min(speed * seconds * Math.min(width, height), mostWidths * width)
  return Math.round(length / 2) * 2
}

/** The first column that each picture shows: gently off, gently to a stop, from the left or from the right. */
export function panOffsets(film: Film): number[] {
  const length = panLength(film)
  const frames = film.seconds * framesPerSecond
  const isBackwards = seededRandom(film.seed, film.prompts[0], 'pan')() < 0.5
  return Array.from({ length: frames }, (_, frame) => {
    const share = (1 - Math.cos((Math.PI * frame) / (frames - 1))) / 2
    return Math.round(((isBackwards ? 1 - share : share) * length) / 2) * 2
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
