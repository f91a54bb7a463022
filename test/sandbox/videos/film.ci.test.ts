import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import {
  drawFilm,
  keyPicture,
  mp4File,
  pictureSet,
  repeatedPicture,
  sequenceSet,
} from '../../../src/sandbox/videos/film.ts'
import type { Film } from '../../../src/sandbox/videos/video-job.ts'
import { decodeVideo, hasFfmpeg } from '../../support/decode-video.ts'
import { mp4Facts } from '../../support/mp4-boxes.ts'

function film(more: Partial<Film> = {}): Film {
  return { text: 'a paper boat at sunset', seed: 'x', width: 320, height: 180, seconds: 2, ...more }
}

test.each([
  [720, 1280, 1],
  [1792, 1024, 1],
  [50, 38, 5],
])('%i by %i pixels, %i seconds: the index says so and points to every picture', (width, height, seconds) => {
  const bytes = Buffer.from(drawFilm(film({ width, height, seconds })))
  const facts = mp4Facts(bytes)
  // The index comes first, so that a player can begin before the end has come.
  const lengths = { seconds: [seconds, seconds], frames: seconds * 24 }
  expect(facts).toMatchObject({ types: ['ftyp', 'moov', 'mdat'], width, height, ...lengths })
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
})

test.skipIf(!hasFfmpeg)('ffprobe tells what was asked for (needs ffmpeg)', () => {
  const words = '-v error -of json -show_streams -show_format -i pipe:0'.split(' ')
  const input = drawFilm(film({ width: 720, height: 1280, seconds: 3 }))
  const { stdout } = spawnSync('ffprobe', words, { input })
  const coding = { codec_name: 'h264', profile: 'Constrained Baseline' }
  const colours = { pix_fmt: 'yuv420p', color_space: 'bt709' }
  const shape = { width: 720, height: 1280, display_aspect_ratio: '9:16' }
  const time = { avg_frame_rate: '24/1', nb_frames: '72', duration: '3.000000' }
  expect(JSON.parse(stdout.toString())).toMatchObject({
    streams: [{ ...coding, ...colours, ...shape, ...time }],
    format: { duration: '3.000000' },
  })
})

test.skipIf(!hasFfmpeg).each([
  [16, 16],
  [12, 70],
  [50, 38],
  [320, 180],
])('%i by %i pixels, red above blue, decode to that in every picture (needs ffmpeg)', (width, height) => {
  const half = Math.floor(height / 4) * 2
  const data = new Uint8ClampedArray(width * height * 4).fill(255)
  for (let pixel = 0; pixel < width * height; pixel++) {
    data.set(pixel < half * width ? [255, 0, 0] : [0, 0, 255], pixel * 4)
  }
  const size = { width, height }
  const pictures = [keyPicture({ data, ...size })]
  // More than `frame_num` counts.
  while (pictures.length < 20) pictures.push(repeatedPicture(pictures.length, size))
  const frames = decodeVideo(mp4File(size, pictures), width, height)
  expect(frames).toHaveLength(20)
  const plane = (red: number, blue: number, scale: number) => [
    Buffer.alloc((half * width) / scale, red),
    Buffer.alloc(((height - half) * width) / scale, blue),
  ]
  const expected = Buffer.concat([...plane(63, 32, 1), ...plane(102, 240, 4), ...plane(240, 118, 4)])
  for (const frame of frames) expect(frame.equals(expected)).toBe(true)
})

test('no unit looks as if another one began in it', () => {
  for (const [width, height] of [
    [16, 16],
    [3840, 2160],
  ] as const) {
    const black = { data: new Uint8ClampedArray(width * height * 4), width, height }
    const units = [sequenceSet(black), pictureSet(), keyPicture(black)]
    for (let number = 1; number <= 16; number++) units.push(repeatedPicture(number, black))
    for (const unit of units) expect(Buffer.from(unit).includes(Buffer.of(0, 0))).toBe(false)
  }
})
