/** One component of a picture. */
export interface Plane {
  readonly width: number
  readonly samples: Uint8Array
}

/** A picture in YCbCr 4:2:0: brightness, and two components of colour at half the width and height. */
export interface Planes {
  readonly luma: Plane
  readonly chroma: readonly [blue: Plane, red: Plane]
}

/**
 * The visible size in pixels, and the coded size in macroblocks of 16 by 16, which is larger, for motion to bring into
 * view.
 */
export interface Format {
  readonly width: number
  readonly height: number
  readonly columns: number
  readonly rows: number
}

/**
 * Levels: the most macroblocks per picture and per second, and the least compression (H.264, table A-1). Players know
 * none that is higher.
 */
const levels = [
  { level: 31, perPicture: 3600, perSecond: 108_000, compression: 4 },
  { level: 40, perPicture: 8192, perSecond: 245_760, compression: 4 },
  { level: 51, perPicture: 36_864, perSecond: 983_040, compression: 2 },
  { level: 52, perPicture: 36_864, perSecond: 2_073_600, compression: 2 },
] as const
export const maxMacroblocks = levels.at(-1)!.perPicture

/** The bytes of an `I_PCM` macroblock and those of its samples. */
const codedBytes = 386
const sampleBytes = 384

/**
 * The lowest level that allows the uncompressed first picture, too (clause A.3.1), which is so up to 720p; for a larger
 * one, the lowest that allows its size.
 */
function levelOf(macroblocks: number): number {
  const fitting = levels.filter(({ perPicture }) => macroblocks <= perPicture)
  const compliant = fitting.find(({ perSecond, compression }) => {
    const first = Math.max(macroblocks, Math.floor(perSecond / 172))
    return (macroblocks + 1) * codedBytes <= (sampleBytes * first) / compression
  })
  return (compliant ?? fitting[0] ?? levels.at(-1)!).level
}

/** The sequence parameter set (clause 7.3.2.1). */
export function sequenceSet({ width, height, columns, rows }: Format): Uint8Array {
  const level = levelOf(columns * rows)
  // Constrained Baseline, which every player knows.
  const profile = [66, 0b1100_0000, level].map((byte) => fixed(byte, 8)).join('')
  const ids = ue(0) + ue(0) // seq_parameter_set_id, log2_max_frame_num_minus4
  const pictures = ue(2) + ue(1) + '0' // shown in the order in which they come, one of them referred to, no gaps
  const size = ue(columns - 1) + ue(rows - 1) + '11' // frame_mbs_only_flag, direct_8x8_inference_flag
  // Left, right, top, bottom, in samples of chroma.
  const cuts = [0, columns * 16 - width, 0, rows * 16 - height].map((cut) => ue(cut / 2)).join('')
  return nalUnit(0x67, `${profile}${ids}${pictures}${size}1${cuts}0`)
}

/** The picture parameter set (clause 7.3.2.2). */
export function pictureSet(): Uint8Array {
  const slices = ue(0) + ue(0) + '00' + ue(0) // ids, CAVLC, no order of fields, one slice group
  const references = ue(0) + ue(0) + '000' // one in either list, no weights
  return nalUnit(0x68, `${slices}${references}${se(0)}${se(0)}${se(0)}000`)
}

/**
 * A lossless key picture: every macroblock is `I_PCM`, its samples unchanged (clause 7.3.5). No sample is 0 in the
 * limited range of video, so no byte needs escaping (clause 7.4.1).
 */
export function keyPicture({ luma, chroma }: Planes, { columns, rows }: Format): Uint8Array {
  const macroblock = ue(25)
  const coded = Buffer.alloc(columns * rows * codedBytes)
  let at = 0
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      at = coded.writeUInt16BE(Number.parseInt(macroblock.padEnd(16, '0'), 2), at)
      for (const [{ samples, width }, side] of [
        [luma, 16],
        [chroma[0], 8],
        [chroma[1], 8],
      ] as const) {
        for (let line = 0; line < side; line++, at += side) {
          const from = (row * side + line) * width + column * side
          coded.set(samples.subarray(from, from + side), at)
        }
      }
    }
  }
  const header = ue(0) + ue(7) + ue(0) + fixed(0, 4) + ue(0) + '00' + se(0)
  return nalUnit(0x65, padded(header + macroblock), coded.subarray(2))
}

/**
 * The previous picture, moved to the left by whole samples: the first row and column contain the motion vector; all
 * other macroblocks are skipped, and so move like their neighbours (clause 8.4.1.1).
 * @param number counts the pictures since the key picture, which is 0
 */
export function movedPicture(number: number, columnsMoved: number, { columns, rows }: Format): Uint8Array {
  const header = ue(0) + ue(5) + ue(0) + fixed(number % 16, 4) + '000' + se(0)
  if (columnsMoved === 0) return nalUnit(0x41, header + ue(columns * rows))
  // `P_L0_16x16`, the difference to the predicted vector in quarters of a sample, no residual.
  const macroblock = (across: number) => ue(0) + se(across) + se(0) + ue(0)
  const firstRow = ue(0) + macroblock(columnsMoved * 4) + (ue(0) + macroblock(0)).repeat(columns - 1)
  const otherRows = Array.from(
    { length: rows - 1 },
    (_, row) => ue(row === 0 ? 0 : columns - 1) + macroblock(0),
  )
  const rest = rows > 1 && columns > 1 ? ue(columns - 1) : ''
  return nalUnit(0x41, header + firstRow + otherRows.join('') + rest)
}

/** A number as an Exp-Golomb code, `ue(v)`. */
function ue(value: number): string {
  const bits = (value + 1).toString(2)
  return bits.padStart(bits.length * 2 - 1, '0')
}

/** A signed one, `se(v)`. */
function se(value: number): string {
  return ue(value > 0 ? 2 * value - 1 : -2 * value)
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
