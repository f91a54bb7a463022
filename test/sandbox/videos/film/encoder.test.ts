import { expect, test } from 'vitest'
import type { CodedPicture } from '../../../../src/sandbox/videos/film/encoder.ts'
import { createEncoder } from '../../../../src/sandbox/videos/film/encoder.ts'
import { mp4File } from '../../../../src/sandbox/videos/film/mp4.ts'
import { parameterSets } from '../../../../src/sandbox/videos/film/parameter-sets.ts'
import { emptyPlanes } from '../../../../src/sandbox/videos/film/planes.ts'
import type { Planes } from '../../../../src/sandbox/videos/film/planes.ts'
import { seededRandom } from '../../../../src/sandbox/seeded-random.ts'
import { decodeVideo, hasFfmpeg, likeness } from '../../../support/decode-video.ts'

/** Fills every sample of all planes. */
function painted(
  width: number,
  height: number,
  sampleAt: (x: number, y: number, plane: number) => number,
): Planes {
  const planes = emptyPlanes(width, height)
  for (const [index, plane] of [planes.luma, ...planes.chroma].entries()) {
    for (let at = 0; at < plane.samples.length; at++) {
      plane.samples[at] = sampleAt(at % plane.width, Math.floor(at / plane.width), index)
    }
  }
  return planes
}

const random = seededRandom('encoder')

/** Scenes that need every code there is, and how near a decoder comes to each. */
const scenes: readonly (readonly [string, number, (x: number, y: number, plane: number) => number])[] = [
  ['one grey', 48, () => 128],
  ['black and white noise', 34, () => (random() < 0.5 ? 0 : 255)],
  ['noise', 34, () => Math.floor(random() * 256)],
  ['faint noise', 34, () => 120 + Math.floor(random() * 16)],
  ['slopes', 42, (x, y) => Math.min(255, x + 2 * y)],
  ['stripes across', 34, (_, y) => (y % 2 === 0 ? 255 : 0)],
  ['stripes down', 34, (x) => (x % 2 === 0 ? 255 : 0)],
  ['rare dots', 38, (x, y) => ((x * 7 + y * 13) % 61 === 0 ? 255 : 16)],
]

const moves: Readonly<Record<string, readonly number[]>> = {
  right: [0, 2, 4, 8, 14, 30, 46],
  left: [48, 46, 42, 36, 20, 4],
  'to and fro': [16, 18, 18, 18, 12, 0, 16, 14],
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
      const format = {
        width,
        height,
        columns: Math.ceil(width / 16),
        rows: Math.ceil(height / 16),
        framesPerSecond: 24,
      }
      const scene = painted(format.columns * 16 + 64, format.rows * 16, sampleAt)
      for (const [direction, offsets] of Object.entries(moves)) {
        const encoder = createEncoder(scene, format)
        const pictures: CodedPicture[] = []
        for (const [index, offset] of offsets.entries()) {
          pictures.push(index % 5 === 0 ? await encoder.whole(offset) : encoder.moved(offset))
        }
        const frames = decodeVideo(mp4File(format, parameterSets(format), pictures), width, height)
        expect(frames).toHaveLength(offsets.length)
        for (const [index, frame] of frames.entries()) {
          const decibels = likeness(frame, scene, width, height, offsets[index]!)
          expect([direction, index, decibels > least]).toEqual([direction, index, true])
        }
      }
    }
  },
)

test('a picture that stands still is a few bytes', async () => {
  const format = { width: 640, height: 352, columns: 40, rows: 22, framesPerSecond: 24 }
  const encoder = createEncoder(
    painted(640, 352, () => Math.floor(random() * 256)),
    format,
  )
  expect((await encoder.whole(0)).bytes.length).toBeGreaterThan(100_000)
  expect(encoder.moved(0).bytes.length).toBeLessThan(10)
})
