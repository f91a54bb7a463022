import { createBitWriter, nalUnit } from './bit-writer.ts'
import type { BitWriter } from './bit-writer.ts'
import { clearCounts, createCountMap } from './count-map.ts'
import { writeIntra } from './macroblock.ts'
import { canSkip, writeMoved } from './motion.ts'
import type { Motion } from './motion.ts'
import { frameNumberBits } from './parameter-sets.ts'
import type { Format } from './parameter-sets.ts'
import { emptyPlanes, shiftPlanes } from './planes.ts'
import type { Planes } from './planes.ts'

/** The farthest that a picture may move from one to the next, in pixels: what comes in is one macroblock wide. */
export const farthestMove = 16

/** Rows of macroblocks that are coded in one go: some 30 ms at 4k. */
const rowsAtOnce = 16

/** A coded picture. */
export interface CodedPicture {
  readonly bytes: Uint8Array
  /** It needs no other: a player can begin here. */
  readonly isKey: boolean
}

/** Turns a pan across a scene into an H.264 stream: whole pictures now and then, and moves between them. */
export interface Encoder {
  /**
   * @param offset first column of the scene that the picture shows; even
   * @param rest is awaited between the parts of the work
   */
  whole(offset: number, rest?: () => Promise<void>): Promise<CodedPicture>
  /** @param offset at most 16 columns from that of the picture before */
  moved(offset: number): CodedPicture
}

/** Types of slices that are alike in a whole picture. */
const sliceType = { moved: 5, whole: 7 } as const
const firstIntraType = { moved: 5, whole: 0 } as const

/** @param scene as high as the macroblocks of the format, and wide enough for every offset */
export function createEncoder(scene: Planes, { columns, rows }: Format): Encoder {
  const picture = emptyPlanes(columns * 16, rows * 16)
  const counts = createCountMap(columns, rows)
  let frameNumber = 0
  let wholeNumber = 0
  let shown = 0

  return {
    async whole(offset, rest) {
      frameNumber = 0
      shown = offset
      const out = createBitWriter()
      writeHeader(out, sliceType.whole, 0, wholeNumber++ % 2)
      clearCounts(counts)
      for (let row = 0; row < rows; row++) {
        for (let column = 0; column < columns; column++) {
          writeIntra(out, scene, picture, counts, { column, row, offset }, firstIntraType.whole)
        }
        if (row % rowsAtOnce === rowsAtOnce - 1) await rest?.()
      }
      return { bytes: nalUnit(0x65, out.finish()), isKey: true }
    },

    moved(offset) {
      frameNumber++
      const by = offset - shown
      shown = offset
      shiftPlanes(picture, by)
      const out = createBitWriter()
      writeHeader(out, sliceType.moved, frameNumber)
      clearCounts(counts)
      const motion: Motion = {
        vector: by * 4,
        freshColumn: by === 0 ? -1 : by > 0 ? columns - 1 : 0,
        columns,
      }
      let skipped = 0
      const endSkipping = () => {
        out.unsigned(skipped)
        skipped = 0
      }
      for (let row = 0; row < rows; row++) {
        for (let column = 0; column < columns; column++) {
          if (column === motion.freshColumn) {
            endSkipping()
            writeIntra(out, scene, picture, counts, { column, row, offset }, firstIntraType.moved)
          } else if (canSkip(motion, column, row)) {
            skipped++
          } else {
            endSkipping()
            writeMoved(out, motion, column, row)
          }
        }
      }
      if (skipped > 0) endSkipping()
      return { bytes: nalUnit(0x61, out.finish()), isKey: false }
    },
  }
}

/** The header of a slice that is a whole picture (H.264, clause 7.3.3). @param idr undefined for a moved picture */
function writeHeader(out: BitWriter, type: number, frameNumber: number, idr?: number): void {
  out.unsigned(0) // first_mb_in_slice
  out.unsigned(type)
  out.unsigned(0) // pic_parameter_set_id
  out.bits(frameNumber % 2 ** frameNumberBits, frameNumberBits)
  if (idr !== undefined) {
    out.unsigned(idr) // idr_pic_id
    out.bits(0, 2) // no_output_of_prior_pics_flag, long_term_reference_flag
  } else {
    out.bits(0, 1) // num_ref_idx_active_override_flag
    out.bits(0, 1) // ref_pic_list_modification_flag_l0
    out.bits(0, 1) // adaptive_ref_pic_marking_mode_flag
  }
  out.signed(0) // slice_qp_delta
  out.unsigned(1) // disable_deblocking_filter_idc
}
