import type { BitWriter } from './bit-writer.ts'

/** How a P picture is made: everything moves alike, and one column of macroblocks comes in new. */
export interface Motion {
  /** How far to the right in the picture before each macroblock's samples lie, in quarter pixels. */
  readonly vector: number
  /** The column that is coded afresh; -1 for none. */
  readonly freshColumn: number
  readonly columns: number
}

/** The vector foretold for a macroblock: the middle one of those around (H.264, clause 8.4.1.3). */
function foretoldVector(motion: Motion, column: number, row: number): number {
  const left = vectorAt(motion, column - 1, row)
  const above = vectorAt(motion, column, row - 1)
  const beyond = vectorAt(motion, column + 1, row - 1) ?? vectorAt(motion, column - 1, row - 1)
  // At the top there is only the left one.
  if (above === undefined && beyond === undefined) return left?.vector ?? 0
  const moving = [left, above, beyond].filter((one) => one?.isMoving)
  if (moving.length === 1) return moving[0]!.vector
  return moving.length >= 2 ? motion.vector : 0
}

/** Undefined for a macroblock outside the picture. */
function vectorAt({ vector, freshColumn, columns }: Motion, column: number, row: number) {
  if (column < 0 || column >= columns || row < 0) return undefined
  return column === freshColumn ? { isMoving: false, vector: 0 } : { isMoving: true, vector }
}

/** Whether a decoder moves a macroblock rightly that is left out of the stream (`P_Skip`, clause 8.4.1.1). */
export function canSkip(motion: Motion, column: number, row: number): boolean {
  if (column === 0 || row === 0) return motion.vector === 0
  return foretoldVector(motion, column, row) === motion.vector
}

/** Writes a macroblock that is only moved (`P_L0_16x16`). */
export function writeMoved(out: BitWriter, motion: Motion, column: number, row: number): void {
  out.unsigned(0) // mb_type
  out.signed(motion.vector - foretoldVector(motion, column, row))
  out.signed(0)
  out.unsigned(0) // coded_block_pattern: no differences
}
