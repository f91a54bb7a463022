import { type Pixels, encodeWebp } from '../../files/codecs.ts'
import type { Size } from '../images/pixels.ts'
import { plainPicture } from '../images/plain-picture.ts'
import { keyPicture, pictureSet, repeatedPicture, sequenceSet } from './h264.ts'
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

export function drawThumbnail(film: Film): Promise<Uint8Array> {
  return encodeWebp(drawStill(film), 80)
}

function drawStill({ text, seed, width, height, seconds }: Film): Pixels {
  return plainPicture({ seed: [seed], text, caption: `${width}x${height} ${seconds} s`, width, height })
}

interface Track extends Size {
  readonly framesPerSecond: number
  /** The parameter sets of the H.264 stream. */
  readonly sequenceSet: Uint8Array
  readonly pictureSet: Uint8Array
}

/** Timescale of the whole file, in ticks per second. */
const fileTicks = 1000

/** The code of "undetermined", right for a track without speech: three letters of five bits. */
const noLanguage = 0x55c4

const identity = u32(0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000)

/** No creation and modification times, so that the same video is the same file. */
const times = zeros(8)

/**
 * An MP4 with one video track, its index first, so that playback can start before the download is complete (ISO
 * 14496-12).
 * @param pictures each its NAL unit; the first one is a key picture
 */
export function mp4File(track: Track, pictures: readonly Uint8Array[]): Uint8Array {
  const type = box('ftyp', 'isom', u32(0x200), 'isom', 'iso2', 'avc1', 'mp41')
  const samples = pictures.map((unit) => Buffer.concat([u32(unit.length), unit]))
  const sizes = samples.map(({ length }) => length)
  // The index contains the offsets of the pictures; its length does not depend on them.
  const index = movie(track, sizes, type.length + movie(track, sizes, 0).length + 8)
  return Buffer.concat([type, index, box('mdat', ...samples)])
}

function movie(track: Track, sizes: readonly number[], start: number): Buffer {
  const { width, height, framesPerSecond } = track
  const count = sizes.length
  const duration = Math.round((count / framesPerSecond) * fileTicks)
  const table = box(
    'stbl',
    box('stsd', u32(0, 1), sampleEntry(track)),
    box('stts', u32(0, 1, count, 1)),
    box('stss', u32(0, 1, 1)),
    box('stsc', u32(0, 1, 1, count, 1)),
    box('stsz', u32(0, 0, count, ...sizes)),
    box('stco', u32(0, 1, start)),
  )
  const sameFile = box('dinf', box('dref', u32(0, 1), box('url ', u32(1))))
  const media = box(
    'mdia',
    box('mdhd', u32(0), times, u32(framesPerSecond, count), u16(noLanguage, 0)),
    box('hdlr', u32(0, 0), 'vide', zeros(12), 'VideoHandler\0'),
    box('minf', box('vmhd', u32(1), zeros(8)), sameFile, table),
  )
  // Flags: enabled, in the movie, in its preview.
  const sides = u32(width * 0x1_0000, height * 0x1_0000)
  const header = box('tkhd', u32(7), times, u32(1, 0, duration), zeros(16), identity, sides)
  // Normal rate and volume; the next track id is 2.
  const usual = [u32(0x1_0000), u16(0x100), zeros(10), identity, zeros(24), u32(2)]
  const general = box('mvhd', u32(0), times, u32(fileTicks, duration), ...usual)
  return box('moov', general, box('trak', header, media))
}

/** `avc1` with the parameter sets (ISO 14496-15), square pixels and the colours of BT.709. */
function sampleEntry({ width, height, sequenceSet, pictureSet }: Track): Buffer {
  const resolution = u32(0x48_0000, 0x48_0000)
  const fixed = [zeros(6), u16(1), zeros(16), u16(width, height), resolution, zeros(4), u16(1), zeros(32)]
  const [sequence, picture] = [sequenceSet, pictureSet].map((set) => [u16(set.length), set] as const)
  const config = [Buffer.of(1), sequenceSet.subarray(1, 4), Buffer.of(0xff, 0xe1), ...sequence!]
  const configBox = box('avcC', ...config, Buffer.of(1), ...picture!)
  const colours = box('colr', 'nclx', u16(1, 1, 1), zeros(1))
  return box('avc1', ...fixed, u16(24, 0xffff), configBox, colours, box('pasp', u32(1, 1)))
}

/** Full boxes begin with their version, which is 0, and their flags. */
function box(name: string, ...parts: readonly (Uint8Array | string)[]): Buffer {
  const content = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
  return Buffer.concat([u32(content.length + 8), Buffer.from(name), content])
}

function u32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4)
  return bytes
}

function u16(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2)
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, index * 2)
  return bytes
}

function zeros(length: number): Buffer {
  return Buffer.alloc(length)
}
