import { expect, test } from 'vitest'
import {
  keyPicture,
  movedPicture,
  pictureSet,
  sequenceSet,
  type Format,
  type Plane,
  type Planes,
} from '../../../../src/sandbox/videos/film/h264.ts'
import { mp4File } from '../../../../src/sandbox/videos/film/mp4.ts'
import { seededRandom } from '../../../../src/sandbox/seeded-random.ts'
import { decodeVideo, hasFfmpeg, shownPicture } from '../../../support/decode-video.ts'

const random = seededRandom('h264')

/** Noise in the limited range of video. */
function noise({ columns, rows }: Format): Planes {
  const plane = (side: number): Plane => ({
    width: columns * side,
    samples: Uint8Array.from({ length: columns * rows * side * side }, () => 16 + Math.floor(random() * 220)),
  })
  return { luma: plane(16), chroma: [plane(8), plane(8)] }
}

const formats: readonly Format[] = [
  { width: 16, height: 16, columns: 1, rows: 1 },
  { width: 16, height: 16, columns: 8, rows: 1 },
  { width: 12, height: 70, columns: 1, rows: 5 },
  { width: 64, height: 48, columns: 8, rows: 3 },
  { width: 50, height: 38, columns: 7, rows: 3 },
]

/** How far each picture moves: not at all, a little, by a macroblock and beyond it, for more pictures than `frame_num` counts. */
const moves = [0, 2, 0, 0, 4, 16, 18, ...Array.from({ length: 14 }, () => 0), 2, 2]

test.skipIf(!hasFfmpeg).each(formats)(
  'a picture of $columns by $rows macroblocks and its moves decode without loss (needs ffmpeg)',
  (format) => {
    const { width, height, columns } = format
    const scene = noise(format)
    const steps = moves.map((move) => (columns * 16 - width > 40 ? move : 0))
    const pictures = [
      keyPicture(scene, format),
      ...steps.map((step, at) => movedPicture(at + 1, step, format)),
    ]
    const sets = { sequenceSet: sequenceSet(format), pictureSet: pictureSet() }
    const frames = decodeVideo(
      mp4File({ width, height, framesPerSecond: 24, ...sets }, pictures),
      width,
      height,
    )
    expect(frames).toHaveLength(pictures.length)
    let offset = 0
    for (const [index, frame] of frames.entries()) {
      offset += index === 0 ? 0 : steps[index - 1]!
      expect(frame.equals(shownPicture(scene, width, height, offset))).toBe(true)
    }
  },
)

test('the parameter sets are those of the standard', () => {
  const hd = { width: 1280, height: 720, columns: 93, rows: 45 }
  expect(Buffer.from(sequenceSet(hd)).toString('hex')).toBe('6742c034da017416f81a74')
  expect(Buffer.from(pictureSet()).toString('hex')).toBe('68ce3880')
})

// Clause A.3.1: the first picture has at most 384 bytes for each macroblock of it, or of a 172nd of a second, divided by
// the least compression of the level, which is 4 up to level 4 and 2 above it.
test.each([
  [2, 148, 31],
  [45, 315, 40],
  [45, 2790, 51],
  [45, 3600, 52],
  [45, 5040, 52],
  // Beyond what any of them allows, the size alone counts.
  [91, 8190, 40],
  [92, 8280, 51],
])('a picture of %i rows, %i macroblocks in all, is of level %i', (rows, macroblocks, level) => {
  const format = { width: 16, height: rows * 16, columns: macroblocks / rows, rows }
  expect(sequenceSet(format)[3]).toBe(level)
})

test('no unit looks as if another one began in it', () => {
  for (const format of [...formats, { width: 3840, height: 2160, columns: 273, rows: 135 }]) {
    const units = [sequenceSet(format), pictureSet(), keyPicture(noise(format), format)]
    for (const move of moves) units.push(movedPicture(moves.indexOf(move), move, format))
    for (const unit of units) expect(Buffer.from(unit).includes(Buffer.of(0, 0))).toBe(false)
  }
})
