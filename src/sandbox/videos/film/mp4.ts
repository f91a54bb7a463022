import type { CodedPicture } from './encoder.ts'
import type { Format, ParameterSets } from './parameter-sets.ts'

/** Ticks in a second of times that belong to the whole file. */
const fileTicks = 1000

/** `en` would be wrong and `und` is the word for a track without speech: three letters of five bits. */
const noLanguage = 0x55c4

/** The matrix that leaves a picture as it is, in 16.16 and 2.30 fixed point. */
const identity = [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000]

/** An MP4 with one video track, its index first, so that a player can begin before all of it has come (ISO 14496-12). */
export function mp4File(format: Format, sets: ParameterSets, pictures: readonly CodedPicture[]): Uint8Array {
  const type = box('ftyp', 'isom', u32(0x200), 'isom', 'iso2', 'avc1', 'mp41')
  const samples = pictures.map(({ bytes }) => Buffer.concat([u32(bytes.length), bytes]))
  const length = (start: number) => movie(format, sets, pictures, samples, start)
  // The index holds where the pictures begin, and is as long whatever that is.
  const index = length(type.length + length(0).length + 8)
  return Buffer.concat([type, index, box('mdat', ...samples)])
}

function movie(
  format: Format,
  sets: ParameterSets,
  pictures: readonly CodedPicture[],
  samples: readonly Uint8Array[],
  start: number,
): Buffer {
  const { width, height, framesPerSecond } = format
  const count = pictures.length
  const fileDuration = Math.round((count / framesPerSecond) * fileTicks)
  return box(
    'moov',
    fullBox(
      'mvhd',
      0,
      times,
      u32(fileTicks, fileDuration),
      u32(0x1_0000),
      u16(0x100),
      zeros(10),
      u32(...identity),
      zeros(24),
      u32(2),
    ),
    box(
      'trak',
      // Enabled, in the movie, in its preview.
      fullBox(
        'tkhd',
        7,
        times,
        u32(1, 0, fileDuration),
        zeros(16),
        u32(...identity),
        u32(width * 0x1_0000, height * 0x1_0000),
      ),
      box(
        'mdia',
        fullBox('mdhd', 0, times, u32(framesPerSecond, count), u16(noLanguage, 0)),
        fullBox('hdlr', 0, u32(0), 'vide', zeros(12), 'VideoHandler\0'),
        box(
          'minf',
          fullBox('vmhd', 1, zeros(8)),
          box('dinf', fullBox('dref', 0, u32(1), fullBox('url ', 1))),
          box(
            'stbl',
            fullBox('stsd', 0, u32(1), sampleEntry(format, sets)),
            fullBox('stts', 0, u32(1, count, 1)),
            fullBox('stss', 0, ...keyPictures(pictures)),
            fullBox('stsc', 0, u32(1, 1, count, 1)),
            fullBox('stsz', 0, u32(0, count, ...samples.map((sample) => sample.length))),
            fullBox('stco', 0, u32(1, start)),
          ),
        ),
      ),
    ),
  )
}

/** Creation and change: not told, so that the same video is the same file. */
const times = zeros(8)

function keyPictures(pictures: readonly CodedPicture[]): readonly Buffer[] {
  const numbers = pictures.flatMap(({ isKey }, index) => (isKey ? [index + 1] : []))
  return [u32(numbers.length, ...numbers)]
}

/** `avc1` with the parameter sets (ISO 14496-15), square pixels and the colours of BT.709. */
function sampleEntry({ width, height }: Format, { sequence, picture }: ParameterSets): Buffer {
  const [, profile, constraints, level] = sequence as unknown as readonly number[]
  return box(
    'avc1',
    zeros(6),
    u16(1),
    zeros(16),
    u16(width, height),
    u32(0x48_0000, 0x48_0000, 0),
    u16(1),
    zeros(32),
    u16(24, 0xffff),
    box(
      'avcC',
      Buffer.from([1, profile!, constraints!, level!, 0xff, 0xe1]),
      u16(sequence.length),
      sequence,
      Buffer.from([1]),
      u16(picture.length),
      picture,
    ),
    box('colr', 'nclx', u16(1, 1, 1), Buffer.from([0])),
    box('pasp', u32(1, 1)),
  )
}

type Part = Uint8Array | string

function box(name: string, ...parts: readonly Part[]): Buffer {
  const content = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
  return Buffer.concat([u32(content.length + 8), Buffer.from(name), content])
}

/** A box of version 0 with flags. */
function fullBox(name: string, flags: number, ...parts: readonly Part[]): Buffer {
  return box(name, u32(flags), ...parts)
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
