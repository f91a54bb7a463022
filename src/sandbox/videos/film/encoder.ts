import { createBitWriter, nalUnit, type BitWriter } from './bit-writer.ts'
import { quantiser, rowStart, writeMacroblock, type Edge, type Planes } from './macroblock.ts'

/** Sides of the pictures in pixels, and in macroblocks, which cover the pixels. */
export interface Format {
  readonly width: number
  readonly height: number
  readonly columns: number
  readonly rows: number
}

/** Constrained Baseline, which every player knows: the profile, and two of its flags. */
const profile = [66, 0b1100_0000] as const

/** Levels that do: macroblocks of a picture, and in a second at 24 pictures (H.264, table A-1). */
const levels = [
  [31, 3600],
  [40, 8192],
  [51, 36_864],
] as const

/** The sequence parameter set (H.264, clause 7.3.2.1): what a decoder must know before the first picture. */
export function sequenceSet({ width, height, columns, rows }: Format): Uint8Array {
  const out = createBitWriter()
  const level = levels.find(([, most]) => columns * rows <= most) ?? levels.at(-1)!
  for (const value of [...profile, level[0]]) out.bits(value, 8)
  out.unsigned(0) // seq_parameter_set_id
  out.unsigned(0) // log2_max_frame_num_minus4
  out.unsigned(2) // pic_order_cnt_type: pictures are shown in the order in which they come
  out.unsigned(0) // max_num_ref_frames
  out.bits(0, 1) // gaps_in_frame_num_value_allowed_flag
  out.unsigned(columns - 1)
  out.unsigned(rows - 1)
  out.bits(0b11, 2) // frame_mbs_only_flag, direct_8x8_inference_flag
  out.bits(1, 1) // frame_cropping_flag: left, right, top, bottom, in samples of chroma
  for (const cut of [0, columns * 16 - width, 0, rows * 16 - height]) out.unsigned(cut / 2)
  out.bits(0, 1) // vui_parameters_present_flag
  return nalUnit(0x67, out)
}

/** The picture parameter set (clause 7.3.2.2). */
export function pictureSet(): Uint8Array {
  const out = createBitWriter()
  out.unsigned(0) // pic_parameter_set_id
  out.unsigned(0) // seq_parameter_set_id
  out.bits(0, 2) // entropy_coding_mode_flag: CAVLC; no order of fields
  for (const none of [0, 0, 0]) out.unsigned(none) // slice groups, references
  out.bits(0, 3) // no weighted prediction
  out.signed(quantiser.usual - 26)
  out.signed(0) // pic_init_qs_minus26
  out.signed(quantiser.chromaOffset)
  out.bits(0, 3) // deblocking by default, no constrained prediction, no redundant pictures
  return nalUnit(0x68, out)
}

/** A row of the scene, coded from some first column to its end. */
interface CodedRow {
  readonly bits: BitWriter
  /** Where each macroblock begins, and where the last one ends. */
  readonly starts: readonly number[]
  /** What is on the left of each. */
  readonly edges: readonly Edge[]
}

/**
 * Codes one picture.
 * @param offset first column of the scene that it shows; even
 * @param rest is awaited between the parts of the work
 * @returns a NAL unit for every row of macroblocks
 */
export type Encoder = (offset: number, rest?: () => Promise<void>) => Promise<Uint8Array[]>

/** Rows of macroblocks that are coded in one go: some 30 ms at 4k. */
const rowsAtOnce = 16

/**
 * Turns a pan across a scene into pictures of an H.264 stream, each whole in itself: a row of macroblocks is a slice. A
 * macroblock's bits depend on nothing but its neighbour on the left, and so serve every picture that shows it.
 * @param scene as high as the macroblocks of the format
 */
export function createEncoder(scene: Planes, { columns, rows }: Format): Encoder {
  const coded = new Map<number, CodedRow>()
  let pictures = 0

  /** Macroblocks of a row that begin every 16 columns, from one of the first 16 on. */
  function rowFrom(phase: number, row: number): CodedRow {
    const known = coded.get(phase * rows + row)
    if (known !== undefined) return known
    const bits = createBitWriter()
    const starts = [0]
    const edges = [rowStart]
    for (let x = phase; x + 16 <= scene.luma.width; x += 16) {
      edges.push(writeMacroblock(bits, scene, { x, row, left: edges.at(-1)! }))
      starts.push(bits.length)
    }
    const codedRow = { bits, starts, edges }
    coded.set(phase * rows + row, codedRow)
    return codedRow
  }

  return async (offset, rest) => {
    const [phase, first] = [offset % 16, Math.floor(offset / 16)]
    const picture = pictures++ % 2
    const units: Uint8Array[] = []
    for (let row = 0; row < rows; row++) {
      const { bits, starts, edges } = rowFrom(phase, row)
      const out = createBitWriter()
      out.unsigned(row * columns) // first_mb_in_slice
      out.unsigned(7) // slice_type: intra, as all of the picture
      out.unsigned(0) // pic_parameter_set_id
      out.bits(0, 4) // frame_num
      out.unsigned(picture) // idr_pic_id: another one than that of the picture before
      out.bits(0, 2) // no_output_of_prior_pics_flag, long_term_reference_flag
      out.signed(0) // slice_qp_delta
      // The first macroblock is another one without the one on its left; from the third one on all is the same.
      const deltaQuantiser = quantiser.usual - quantiser.fine
      const start = {
        x: offset,
        row,
        left: rowStart,
        wanted: edges[first + 1]!,
        deltaQuantiser: -deltaQuantiser,
      }
      const left = writeMacroblock(out, scene, start)
      if (columns > 1) writeMacroblock(out, scene, { x: offset + 16, row, left, deltaQuantiser })
      out.copy(bits, starts[first + Math.min(2, columns)]!, starts[first + columns]!)
      units.push(nalUnit(0x65, out))
      if (row % rowsAtOnce === rowsAtOnce - 1) await rest?.()
    }
    return units
  }
}
