import { encodeWebp, type Pixels } from '../../files/codecs.ts'
import type { Size } from '../images/pixels.ts'
import { plainPicture } from '../images/plain-picture.ts'
import type { Film } from './video-job.ts'

const framesPerSecond = 24

/** A video that shows one picture, as H.264 in an MP4. The same film produces the same bytes. */
export function drawFilm(film: Film): Uint8Array {
  const { seconds } = film
  const pictures = Array.from({ length: seconds * framesPerSecond }, (_, frame) =>
    frame === 0 ? keyPicture(drawStill(film)) : repeatedPicture(frame, film),
  )
  return mp4File(film, pictures)
}

export function drawThumbnail(film: Film): Promise<Uint8Array> {
  return encodeWebp(drawStill(film), 80)
}

function drawStill({ text, seed, width, height, seconds }: Film): Pixels {
  return plainPicture({ seed: [seed], text, caption: `${width}x${height} ${seconds} s`, width, height })
}

const identity = [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000]

/** No creation and modification times, so that the same video is the same file. */
const times = [0, 0]

/**
 * An MP4 with one video track, its index first, so that playback can start before the download is complete (ISO
 * 14496-12). The first picture is a key picture.
 */
export function mp4File(size: Size, pictures: readonly Uint8Array[]): Uint8Array {
  const type = box('ftyp', 'isom', 0x200, 'isom', 'iso2', 'avc1', 'mp41')
  const sizes = pictures.map((unit) => unit.length + 4)
  // The index contains the offset of the pictures; its length does not depend on it.
  const index = movie(size, sizes, type.length + movie(size, sizes, 0).length + 8)
  return Buffer.concat([type, index, box('mdat', ...pictures.flatMap((unit) => [unit.length, unit]))])
}

function movie(size: Size, sizes: readonly number[], start: number): Buffer {
  const count = sizes.length
  const table = box(
    'stbl',
    box('stsd', 0, 1, sampleEntry(size)),
    box('stts', 0, 1, count, 1),
    box('stss', 0, 1, 1),
    box('stsc', 0, 1, 1, count, 1),
    box('stsz', 0, 0, count, ...sizes),
    box('stco', 0, 1, start),
  )
  const sameFile = box('dinf', box('dref', 0, 1, box('url ', 1)))
  // The code of "undetermined", right for a track without speech: three letters of five bits.
  const noLanguage = 0x55c4_0000
  const media = box(
    'mdia',
    box('mdhd', 0, ...times, framesPerSecond, count, noLanguage),
    box('hdlr', 0, 0, 'vide', zeros(12), 'VideoHandler\0'),
    box('minf', box('vmhd', 1, zeros(8)), sameFile, table),
  )
  const sides = [size.width * 0x1_0000, size.height * 0x1_0000]
  // Flags: enabled, in the movie, in its preview.
  const header = box('tkhd', 7, ...times, 1, 0, count, zeros(16), ...identity, ...sides)
  // Normal rate and volume; the next track id is 2.
  const usual = [0x1_0000, u16(0x100), zeros(10), ...identity, zeros(24), 2]
  return box('moov', box('mvhd', 0, ...times, framesPerSecond, count, ...usual), box('trak', header, media))
}

/** `avc1` with the parameter sets (ISO 14496-15), square pixels and the colours of BT.709. */
function sampleEntry(size: Size): Buffer {
  const { width, height } = size
  const sequence = sequenceSet(size)
  const picture = pictureSet()
  const resolution = [0x48_0000, 0x48_0000]
  const fixed = [zeros(6), u16(1), zeros(16), u16(width, height), ...resolution, zeros(4), u16(1), zeros(32)]
  const profile = [Buffer.of(1), sequence.subarray(1, 4), Buffer.of(0xff, 0xe1)]
  const sets = [u16(sequence.length), sequence, Buffer.of(1), u16(picture.length), picture]
  const colours = box('colr', 'nclx', u16(1, 1, 1), zeros(1))
  return box('avc1', ...fixed, u16(24, 0xffff), box('avcC', ...profile, ...sets), colours, box('pasp', 1, 1))
}

/** Numbers are of 32 bits. Full boxes begin with their version, which is 0, and their flags. */
function box(name: string, ...parts: readonly (Uint8Array | string | number)[]): Buffer {
  const content = parts.map((part) => {
    if (typeof part === 'number') return u16(part >>> 16, part & 0xffff)
    return typeof part === 'string' ? Buffer.from(part) : part
  })
  const length = content.reduce((sum, { length }) => sum + length, 8)
  return Buffer.concat([u16(length >>> 16, length & 0xffff), Buffer.from(name), ...content])
}

function u16(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2)
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, index * 2)
  return bytes
}

function zeros(length: number): Buffer {
  return Buffer.alloc(length)
}

function macroblocksOf({ width, height }: Size) {
  return { columns: Math.ceil(width / 16), rows: Math.ceil(height / 16) }
}

/** 5.2, the highest level that players know: an uncompressed picture is too large for lower ones (table A-1). */
const level = 52

/** The sequence parameter set (clause 7.3.2.1), for even numbers of pixels. */
export function sequenceSet(size: Size): Uint8Array {
  const { columns, rows } = macroblocksOf(size)
  // Constrained Baseline, which every player knows.
  const profile = [66, 0b1100_0000, level].map((byte) => fixed(byte, 8)).join('')
  const ids = ue(0) + ue(0) // seq_parameter_set_id, log2_max_frame_num_minus4
  const pictures = ue(2) + ue(1) + '0' // shown in the order in which they come, one of them referred to, no gaps
  const sides = ue(columns - 1) + ue(rows - 1) + '11' // frame_mbs_only_flag, direct_8x8_inference_flag
  // Left, right, top, bottom, in samples of chroma.
  const cuts = [0, columns * 16 - size.width, 0, rows * 16 - size.height].map((cut) => ue(cut / 2)).join('')
  return nalUnit(0x67, `${profile}${ids}${pictures}${sides}1${cuts}0`)
}

/** The picture parameter set (clause 7.3.2.2). */
export function pictureSet(): Uint8Array {
  const slices = ue(0) + ue(0) + '00' + ue(0) // ids, CAVLC, no order of fields, one slice group
  const references = ue(0) + ue(0) + '000' // one in either list, no weights
  return nalUnit(0x68, `${slices}${references}${ue(0)}${ue(0)}${ue(0)}000`)
}

/** Samples along a macroblock, and their value by red, green and blue: ITU-R BT.709, limited range, rounded. */
const components = [
  { side: 16, base: 16.5, red: 0.182586, green: 0.614231, blue: 0.062007 },
  { side: 8, base: 128.5, red: -0.100644, green: -0.338572, blue: 0.439216 },
  { side: 8, base: 128.5, red: 0.439216, green: -0.398942, blue: -0.040274 },
] as const

const codedBytes = 2 + 384

/**
 * An uncompressed key picture: every macroblock is `I_PCM` (clause 7.3.5). The last row and column are repeated up to
 * whole macroblocks. No sample is 0 in the limited range of video, so no byte needs escaping (clause 7.4.1).
 */
export function keyPicture({ data, width, height }: Pixels): Uint8Array {
  const { columns, rows } = macroblocksOf({ width, height })
  const macroblock = ue(25)
  const coded = Buffer.alloc(columns * rows * codedBytes)
  let at = 0
  for (let block = 0; block < columns * rows; block++) {
    const [top, left] = [Math.floor(block / columns) * 16, (block % columns) * 16]
    at = coded.writeUInt16BE(Number.parseInt(macroblock.padEnd(16, '0'), 2), at)
    for (const { side, base, red, green, blue } of components) {
      for (let sample = 0; sample < side * side; sample++) {
        const y = Math.min(height - 1, top + Math.floor(sample / side) * (16 / side))
        const x = Math.min(width - 1, left + (sample % side) * (16 / side))
        const from = (y * width + x) * 4
        coded[at++] = base + red * data[from]! + green * data[from + 1]! + blue * data[from + 2]!
      }
    }
  }
  const header = ue(0) + ue(7) + ue(0) + fixed(0, 4) + ue(0) + '00' + ue(0)
  return nalUnit(0x65, padded(header + macroblock), coded.subarray(2))
}

/** The previous picture once more: all macroblocks are skipped. The key picture has the number 0. */
export function repeatedPicture(number: number, size: Size): Uint8Array {
  const { columns, rows } = macroblocksOf(size)
  return nalUnit(0x41, ue(0) + ue(5) + ue(0) + fixed(number % 16, 4) + '000' + ue(0) + ue(columns * rows))
}

/** A number as an Exp-Golomb code, `ue(v)`. */
function ue(value: number): string {
  const bits = (value + 1).toString(2)
  return bits.padStart(bits.length * 2 - 1, '0')
}

function fixed(value: number, length: number): string {
  return value.toString(2).padStart(length, '0')
}

function padded(bits: string): string {
  return bits.padEnd(Math.ceil(bits.length / 8) * 8, '0')
}

/** A NAL unit: header byte, payload in bits and in bytes, and the one that ends it (`rbsp_trailing_bits`). */
function nalUnit(header: number, bits: string, bytes: Uint8Array = Buffer.alloc(0)): Uint8Array {
  const [start, end] = bytes.length === 0 ? [padded(`${bits}1`), ''] : [bits, padded('1')]
  const octets = (text: string) => (text.match(/.{8}/g) ?? []).map((octet) => Number.parseInt(octet, 2))
  return Buffer.concat([Buffer.of(header, ...octets(start)), bytes, Buffer.from(octets(end))])
}
