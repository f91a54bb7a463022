import type { Pixels } from '../../files/codecs.ts'
import type { Size } from '../images/pixels.ts'

/** The size in macroblocks of 16 by 16 pixels. */
function macroblocksOf({ width, height }: Size) {
  return { columns: Math.ceil(width / 16), rows: Math.ceil(height / 16) }
}

/** 5.2, the highest level that players know: an uncompressed picture is too large for lower ones (table A-1). */
const level = 52

/**
 * The sequence parameter set (clause 7.3.2.1).
 * @param size in even numbers of pixels
 */
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

/** The bytes of an `I_PCM` macroblock: its header and its samples. */
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

/**
 * The previous picture once more: all macroblocks are skipped.
 * @param number counts the pictures since the key picture, which is 0
 */
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
