import { expect, test } from 'vitest'
import { createEncoder, pictureSet, sequenceSet } from '../../../../src/sandbox/videos/film/encoder.ts'
import type { Plane, Planes } from '../../../../src/sandbox/videos/film/macroblock.ts'
import { mp4File } from '../../../../src/sandbox/videos/film/mp4.ts'
import { seededRandom } from '../../../../src/sandbox/seeded-random.ts'
import { decodeVideo, hasFfmpeg, likeness } from '../../../support/decode-video.ts'

/** Fills every sample of all planes. */
function painted(
  width: number,
  height: number,
  sampleAt: (x: number, y: number, plane: number) => number,
): Planes {
  const plane = (index: number, wide: number, high: number): Plane => ({
    width: wide,
    samples: Uint8Array.from({ length: wide * high }, (_, at) =>
      sampleAt(at % wide, Math.floor(at / wide), index),
    ),
  })
  return {
    luma: plane(0, width, height),
    chroma: [plane(1, width / 2, height / 2), plane(2, width / 2, height / 2)],
  }
}

const random = seededRandom('encoder')

/** Scenes that need every code there is, and how near a decoder comes to each. */
const scenes: readonly (readonly [string, number, (x: number, y: number, plane: number) => number])[] = [
  ['one grey', 48, () => 128],
  ['black and white noise', 30, () => (random() < 0.5 ? 0 : 255)],
  ['noise', 29, () => Math.floor(random() * 256)],
  ['faint noise', 34, () => 120 + Math.floor(random() * 16)],
  ['slopes', 42, (x, y) => Math.min(255, x + 2 * y)],
  ['stripes across', 34, (_, y) => (y % 2 === 0 ? 255 : 0)],
  ['stripes down', 34, (x) => (x % 2 === 0 ? 255 : 0)],
  ['rare dots', 35, (x, y) => ((x * 7 + y * 13) % 61 === 0 ? 255 : 16)],
]

const moves: Readonly<Record<string, readonly number[]>> = {
  right: [0, 2, 4, 8, 14, 30, 46],
  left: [48, 46, 42, 36, 20, 4],
  'to and fro': [16, 18, 18, 18, 64, 0, 16, 14],
}

test.skipIf(!hasFfmpeg).each(scenes)(
  '%s decodes to %i dB of what was drawn (needs ffmpeg)',
  async (_, least, sampleAt) => {
    // Pictures that are cut to fewer pixels than their macroblocks have, too.
    for (const [width, height] of [
      [64, 48],
      [50, 38],
      [16, 16],
    ] as const) {
      const format = { width, height, columns: Math.ceil(width / 16), rows: Math.ceil(height / 16) }
      const scene = painted(format.columns * 16 + 64, format.rows * 16, sampleAt)
      for (const [direction, offsets] of Object.entries(moves)) {
        const encode = createEncoder(scene, format)
        const pictures: Uint8Array[][] = []
        for (const offset of offsets) pictures.push(await encode(offset))
        const sets = { sequenceSet: sequenceSet(format), pictureSet: pictureSet() }
        const video = mp4File({ width, height, framesPerSecond: 24, ...sets }, pictures)
        const frames = decodeVideo(video, width, height)
        expect(frames).toHaveLength(offsets.length)
        for (const [index, frame] of frames.entries()) {
          const decibels = likeness(frame, scene, width, height, offsets[index]!)
          expect([direction, index, decibels > least]).toEqual([direction, index, true])
        }
      }
    }
  },
)
