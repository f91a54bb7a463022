import type { BitWriter } from './bit-writer.ts'
import {
  chromaDc,
  chromaDcZeroCount,
  fewAround,
  manyAround,
  someAround,
  zeroCount,
  zeroRun,
} from './cavlc-codes.ts'
import type { Code } from './cavlc-codes.ts'

/** Stands for `nC` of the DC coefficients of chroma. */
export const chromaDcContext = -1

/** A level this large, coded with that suffix, needs the escape code. */
const escapePrefix = 15

/**
 * Writes the coefficients of a block (H.264, clause 7.3.5.3.2, `residual_block_cavlc`).
 * @param levels in zigzag order
 * @param first and `count`: which of them belong to the block
 * @param context how many coefficients the blocks around have (`nC`)
 * @returns how many are not zero
 */
export function writeBlock(
  out: BitWriter,
  levels: Int32Array,
  first: number,
  count: number,
  context: number,
): number {
  let total = 0
  let last = -1
  for (let at = 0; at < count; at++) {
    if (levels[first + at] === 0) continue
    total++
    last = at
  }
  const ones = trailingOnes(levels, first, last)
  writeCount(out, total, ones, context)
  if (total === 0) return 0
  writeLevels(out, levels, first, last, total, ones)
  writeZeros(out, levels, first, count, last, total)
  return total
}

/** How many of the last coefficients are 1 or -1: at most three. */
function trailingOnes(levels: Int32Array, first: number, last: number): number {
  let ones = 0
  for (let at = last; at >= 0 && ones < 3; at--) {
    const level = levels[first + at]!
    if (level === 0) continue
    if (level !== 1 && level !== -1) break
    ones++
  }
  return ones
}

function writeCount(out: BitWriter, total: number, ones: number, context: number): void {
  if (context >= 8) {
    out.bits(total === 0 ? 3 : ((total - 1) << 2) | ones, 6)
    return
  }
  const table =
    context === chromaDcContext ? chromaDc : context < 2 ? fewAround : context < 4 ? someAround : manyAround
  word(out, table[total]![ones]!)
}

function writeLevels(
  out: BitWriter,
  levels: Int32Array,
  first: number,
  last: number,
  total: number,
  ones: number,
): void {
  let suffixLength = total > 10 && ones < 3 ? 1 : 0
  let written = 0
  for (let at = last; at >= 0; at--) {
    const level = levels[first + at]!
    if (level === 0) continue
    if (written < ones) {
      out.bits(level < 0 ? 1 : 0, 1)
      written++
      continue
    }
    let code = level > 0 ? 2 * level - 2 : -2 * level - 1
    // Behind fewer than three ones the next level cannot be a one.
    if (written === ones && ones < 3) code -= 2
    writeLevel(out, code, suffixLength)
    if (suffixLength === 0) suffixLength = 1
    if (Math.abs(level) > 3 << (suffixLength - 1) && suffixLength < 6) suffixLength++
    written++
  }
}

function writeLevel(out: BitWriter, code: number, suffixLength: number): void {
  if (suffixLength === 0 && code >= 14 && code < 30) {
    out.bits(1, 15)
    out.bits(code - 14, 4)
    return
  }
  const escape = suffixLength === 0 ? 30 : escapePrefix << suffixLength
  if (code < escape) {
    out.bits(1, (code >> suffixLength) + 1)
    if (suffixLength > 0) out.bits(code, suffixLength)
    return
  }
  out.bits(1, escapePrefix + 1)
  out.bits(code - escape, 12)
}

function writeZeros(
  out: BitWriter,
  levels: Int32Array,
  first: number,
  count: number,
  last: number,
  total: number,
): void {
  let zeros = last + 1 - total
  if (total < count) word(out, (count === 4 ? chromaDcZeroCount : zeroCount)[total - 1]![zeros]!)
  let run = 0
  for (let at = last - 1; at >= 0 && zeros > 0; at--) {
    if (levels[first + at] === 0) {
      run++
      continue
    }
    word(out, zeroRun[Math.min(zeros, 7) - 1]![run]!)
    zeros -= run
    run = 0
  }
}

function word(out: BitWriter, { value, length }: Code): void {
  out.bits(value, length)
}
