import { createBitWriter, nalUnit } from './bit-writer.ts'
import { quantiser } from './transform.ts'

/** What a decoder must know before the first picture. */
export interface Format {
  /** In pixels. */
  readonly width: number
  readonly height: number
  /** In macroblocks, which cover the pixels. */
  readonly columns: number
  readonly rows: number
  readonly framesPerSecond: number
}

export interface ParameterSets {
  readonly sequence: Uint8Array
  readonly picture: Uint8Array
}

/** Bits of the number that every picture has, modulo. */
export const frameNumberBits = 8

const baseline = 66
/** `constraint_set0_flag` and `constraint_set1_flag`: Constrained Baseline, which every player knows. */
const constrained = 0b1100_0000

/** Levels that do: macroblocks of a picture, macroblocks in a second (H.264, table A-1). */
const levels = [
  { level: 31, picture: 3600, second: 108_000 },
  { level: 40, picture: 8192, second: 245_760 },
  { level: 51, picture: 36_864, second: 983_040 },
] as const

/** The two parameter sets of a video (H.264, clauses 7.3.2.1 and 7.3.2.2). */
export function parameterSets(format: Format): ParameterSets {
  return { sequence: nalUnit(0x67, sequenceSet(format)), picture: nalUnit(0x68, pictureSet()) }
}

function sequenceSet(format: Format): Uint8Array {
  const { width, height, columns, rows } = format
  const out = createBitWriter()
  out.bits(baseline, 8)
  out.bits(constrained, 8)
  out.bits(levelOf(format), 8)
  out.unsigned(0) // seq_parameter_set_id
  out.unsigned(frameNumberBits - 4)
  out.unsigned(2) // pic_order_cnt_type: pictures are shown in the order in which they come
  out.unsigned(1) // max_num_ref_frames
  out.bits(0, 1) // gaps_in_frame_num_value_allowed_flag
  out.unsigned(columns - 1)
  out.unsigned(rows - 1)
  out.bits(1, 1) // frame_mbs_only_flag
  out.bits(1, 1) // direct_8x8_inference_flag
  const [beside, below] = [columns * 16 - width, rows * 16 - height]
  out.bits(beside + below > 0 ? 1 : 0, 1)
  if (beside + below > 0) {
    // Left, right, top, bottom, in samples of chroma.
    for (const cut of [0, beside / 2, 0, below / 2]) out.unsigned(cut)
  }
  out.bits(1, 1) // vui_parameters_present_flag
  writeUsability(out, format)
  return out.finish()
}

/** How the pictures are to be shown (annex E). */
function writeUsability(out: ReturnType<typeof createBitWriter>, { framesPerSecond }: Format): void {
  out.bits(1, 1) // aspect_ratio_info_present_flag
  out.bits(1, 8) // square pixels
  out.bits(0, 1) // overscan_info_present_flag
  out.bits(1, 1) // video_signal_type_present_flag
  out.bits(5, 3) // video_format: unspecified
  out.bits(0, 1) // video_full_range_flag
  out.bits(1, 1) // colour_description_present_flag
  for (const bt709 of [1, 1, 1]) out.bits(bt709, 8)
  out.bits(0, 1) // chroma_loc_info_present_flag
  out.bits(1, 1) // timing_info_present_flag
  for (const half of [0, 1, 0, 2 * framesPerSecond]) out.bits(half, 16)
  out.bits(1, 1) // fixed_frame_rate_flag
  out.bits(0, 3) // no HRD parameters, no pic_struct
  out.bits(1, 1) // bitstream_restriction_flag
  out.bits(0, 1) // motion_vectors_over_pic_boundaries_flag
  // No limit of bytes and bits, long vectors, nothing reordered, one picture kept.
  for (const value of [0, 0, 10, 10, 0, 1]) out.unsigned(value)
}

function pictureSet(): Uint8Array {
  const out = createBitWriter()
  out.unsigned(0) // pic_parameter_set_id
  out.unsigned(0) // seq_parameter_set_id
  out.bits(0, 1) // entropy_coding_mode_flag: CAVLC
  out.bits(0, 1) // bottom_field_pic_order_in_frame_present_flag
  out.unsigned(0) // num_slice_groups_minus1
  out.unsigned(0) // num_ref_idx_l0_default_active_minus1
  out.unsigned(0) // num_ref_idx_l1_default_active_minus1
  out.bits(0, 3) // no weighted prediction
  out.signed(quantiser - 26)
  out.signed(0) // pic_init_qs_minus26
  out.signed(0) // chroma_qp_index_offset
  out.bits(1, 1) // deblocking_filter_control_present_flag
  out.bits(0, 2) // constrained_intra_pred_flag, redundant_pic_cnt_present_flag
  return out.finish()
}

function levelOf({ columns, rows, framesPerSecond }: Format): number {
  const picture = columns * rows
  const fits = levels.find((limit) => picture <= limit.picture && picture * framesPerSecond <= limit.second)
  return (fits ?? levels.at(-1)!).level
}
