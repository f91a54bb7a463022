import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import {
  drawFilm,
  drawStill,
  filmScene,
  flatFilm,
  panOffsets,
  planesOf,
} from '../../../../src/sandbox/videos/film/draw-film.ts'
import type { Film } from '../../../../src/sandbox/videos/video-job.ts'
import { decodeVideo, hasFfmpeg, shownPicture } from '../../../support/decode-video.ts'
import { mp4Facts } from '../../../support/mp4-boxes.ts'

function film(more: Partial<Film> = {}): Film {
  return { prompts: ['a paper boat at sunset'], seed: 'x', width: 320, height: 180, seconds: 2, ...more }
}

const sizes: readonly (readonly [number, number, number])[] = [
  [1280, 720, 2],
  [720, 1280, 1],
  [1080, 1920, 1],
  [1792, 1024, 1],
  [320, 180, 5],
]

test.each(sizes)(
  '%i by %i pixels, %i seconds: the index says so and points to every picture',
  (width, height, seconds) => {
    const bytes = Buffer.from(drawFilm(film({ width, height, seconds })))
    const facts = mp4Facts(bytes)
    // The index comes first, so that a player can begin before the end has come.
    expect(facts).toMatchObject({
      types: ['ftyp', 'moov', 'mdat'],
      width,
      height,
      seconds: [seconds, seconds],
      frames: seconds * 24,
    })
    expect(facts.start).toBe(facts.dataStart)
    const units: number[] = []
    let at = facts.start
    for (const size of facts.frameSizes) {
      expect(bytes.readUInt32BE(at)).toBe(size - 4)
      units.push(bytes[at + 4]!)
      at += size
    }
    expect(at).toBe(bytes.length)
    // A player begins with the first picture; all others follow from it.
    expect(units).toEqual([0x65, ...Array.from({ length: seconds * 24 - 1 }, () => 0x41)])
    expect(facts.syncFrames).toEqual([1])
  },
)

test.skipIf(!hasFfmpeg).each(sizes)(
  '%i by %i pixels, %i seconds: every picture is the one that was drawn (needs ffmpeg)',
  (width, height, seconds) => {
    const order = film({ width, height, seconds })
    const frames = decodeVideo(drawFilm(order), width, height)
    const offsets = panOffsets(order)
    expect(frames).toHaveLength(offsets.length)
    const drawn = planesOf(filmScene(order), Math.ceil(height / 16) * 16)
    for (const frame of [0, 1, 11, offsets.length - 1]) {
      expect(frames[frame]!.equals(shownPicture(drawn, width, height, offsets[frame]!))).toBe(true)
    }
  },
)

test.skipIf(!hasFfmpeg)('ffprobe tells what was asked for (needs ffmpeg)', () => {
  const { stdout } = spawnSync(
    'ffprobe',
    ['-v', 'error', '-of', 'json', '-show_streams', '-show_format', '-i', 'pipe:0'],
    { input: drawFilm(film({ width: 720, height: 1280, seconds: 3 })) },
  )
  const { streams, format } = JSON.parse(stdout.toString())
  expect(streams).toHaveLength(1)
  expect(streams[0]).toMatchObject({
    codec_name: 'h264',
    profile: 'Constrained Baseline',
    width: 720,
    height: 1280,
    display_aspect_ratio: '9:16',
    pix_fmt: 'yuv420p',
    color_space: 'bt709',
    avg_frame_rate: '24/1',
    nb_frames: '72',
  })
  expect([Number(streams[0].duration), Number(format.duration)]).toEqual([3, 3])
})

test.skipIf(!hasFfmpeg)(
  'a flat film has the size and the length asked for, in one colour (needs ffmpeg)',
  () => {
    const bytes = Buffer.from(flatFilm(film({ width: 720, height: 1280, seconds: 3 })))
    expect(mp4Facts(bytes)).toMatchObject({ width: 720, height: 1280, seconds: [3, 3], frames: 72 })
    const frames = decodeVideo(bytes, 720, 1280)
    expect(frames).toHaveLength(72)
    for (const frame of [frames[0]!, frames[71]!]) {
      // Luma, and two planes of chroma with a quarter of its samples each.
      const ends = [0, 4, 5, 6].map((quarters) => quarters * 360 * 640)
      const planes = [0, 1, 2].map((at) => frame.subarray(ends[at], ends[at + 1]))
      expect(frame).toHaveLength(ends[3]!)
      expect(planes.map((plane) => plane.every((sample) => sample === plane[0]))).toEqual([true, true, true])
    }
    const other = flatFilm(film({ width: 720, height: 1280, seconds: 3, seed: 'y' }))
    expect(bytes.equals(other)).toBe(false)
  },
)

test('the same film is the same file; seed, prompt and changes each make another', () => {
  const films = [
    film(),
    film(),
    film({ seed: 'y' }),
    film({ prompts: ['green hills'] }),
    film({ prompts: ['a paper boat at sunset', 'make it night'] }),
  ]
  const files = films.map((order) => Buffer.from(drawFilm(order)).toString('hex'))
  expect(files[1]).toBe(files[0])
  expect(new Set(files).size).toBe(4)
})

test('the camera goes gently, and always by whole samples of colour', () => {
  for (const seconds of [1, 4, 60]) {
    for (const seed of ['a', 'b', 'c', 'd']) {
      const offsets = panOffsets(film({ width: 3840, height: 2160, seconds, seed }))
      const moves = offsets.slice(1).map((offset, index) => offset - offsets[index]!)
      expect(moves.every((move) => move >= 0 && move <= 16 && move % 2 === 0)).toBe(true)
      expect(offsets[0]).toBe(0)
      expect(offsets.at(-1)).toBeGreaterThan(100)
    }
  }
})

test('a remix keeps the shapes of its source in other colours', () => {
  const source = drawStill(film())
  const remix = drawStill(film({ prompts: ['a paper boat at sunset', 'a green night'] }))
  const lights = [source, remix].map(({ data }) =>
    Array.from({ length: data.length / 4 }, (_, at) => data[at * 4]! + data[at * 4 + 1]! + data[at * 4 + 2]!),
  )
  expect(correlation(lights[0]!, lights[1]!)).toBeGreaterThan(0.7)
  const distance = source.data.reduce((sum, value, at) => sum + Math.abs(value - remix.data[at]!), 0)
  expect(distance / source.data.length).toBeGreaterThan(15)
})

function correlation(one: readonly number[], other: readonly number[]): number {
  const mean = (list: readonly number[]) => list.reduce((sum, value) => sum + value, 0) / list.length
  const [first, second] = [mean(one), mean(other)]
  const product = (a: readonly number[], b: readonly number[], p: number, q: number) =>
    a.reduce((sum, value, at) => sum + (value - p) * (b[at]! - q), 0)
  return (
    product(one, other, first, second) /
    Math.sqrt(product(one, one, first, first) * product(other, other, second, second))
  )
}
