import type { BitWriter } from './bit-writer.ts'

/** Stands in for `nC` of the DC coefficients of chroma. */
export const chromaDcContext = -1

/**
 * Writes the coefficients of a block as ITU-T H.264 has them in clauses 7.3.5.3.2 and 9.2 (`residual_block_cavlc`).
 * @param levels in zigzag order
 * @param first and `count`: which of them belong to the block
 * @param context how many coefficients the blocks around have (`nC`)
 */
export function writeBlock(
  out: BitWriter,
  levels: Int32Array,
  first: number,
  count: number,
  context: number,
): void {
  let [total, zeros, ones, isOnes] = [0, 0, 0, true]
  let last = first + count - 1
  while (last >= first && levels[last] === 0) last--
  for (let at = last; at >= first; at--) {
    const level = levels[at]!
    if (level === 0) {
      zeros++
      continue
    }
    total++
    isOnes &&= (level === 1 || level === -1) && ones < 3
    if (isOnes) ones++
  }
  writeCount(out, total, ones, context)
  if (total === 0) return
  writeLevels(out, levels, first, last, total, ones)
  if (total < count) word(out, (count === 4 ? chromaDcZeroCount : zeroCount)[total - 1]![zeros]!)
  for (let [at, run] = [last - 1, 0]; at >= first && zeros > 0; at--, run++) {
    if (levels[at] === 0) continue
    word(out, zeroRun[Math.min(zeros, 7) - 1]![run]!)
    zeros -= run
    run = -1
  }
}

/** How many levels there are, and how many of the last ones are 1 or -1: at most three. */
function writeCount(out: BitWriter, total: number, ones: number, context: number): void {
  if (context >= 8) return out.bits(total === 0 ? 3 : ((total - 1) << 2) | ones, 6)
  const isChromaDc = context === chromaDcContext
  const table = isChromaDc ? chromaDc : context < 2 ? fewAround : context < 4 ? someAround : manyAround
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
  for (let at = last; at >= first; at--) {
    const level = levels[at]!
    if (level === 0) continue
    if (written++ < ones) {
      out.bits(level < 0 ? 1 : 0, 1)
      continue
    }
    // Behind fewer than three ones the next level cannot be a one.
    const shift = written === ones + 1 && ones < 3 ? 2 : 0
    writeLevel(out, (level > 0 ? 2 * level - 2 : -2 * level - 1) - shift, suffixLength)
    if (suffixLength === 0) suffixLength = 1
    if (Math.abs(level) > 3 << (suffixLength - 1) && suffixLength < 6) suffixLength++
  }
}

function writeLevel(out: BitWriter, code: number, suffixLength: number): void {
  const escape = suffixLength === 0 ? 30 : 15 << suffixLength
  if (code >= escape) {
    out.bits(1, 16)
    out.bits(code - escape, 12)
  } else if (suffixLength === 0 && code >= 14) {
    out.bits(1, 15)
    out.bits(code - 14, 4)
  } else {
    out.bits(1, (code >> suffixLength) + 1)
    out.bits(code, suffixLength)
  }
}

function word(out: BitWriter, { value, length }: Code): void {
  out.bits(value, length)
}

/** A word of the code: its value and how many bits it has. */
export interface Code {
  readonly value: number
  readonly length: number
}

function codes(table: string): readonly (readonly Code[])[] {
  return table
    .trim()
    .split('\n')
    .map((row) =>
      row
        .trim()
        .split(' ')
        .map((bits) => ({ value: Number.parseInt(bits, 2), length: bits.length })),
    )
}

// coeff_token (table 9-5): a row for each number of coefficients from 0, a word for each number of trailing ones.

/** nC from 0 to 1. */
export const fewAround = codes(`
  1
  000101 01
  00000111 000100 001
  000000111 00000110 0000101 00011
  0000000111 000000110 00000101 000011
  00000000111 0000000110 000000101 0000100
  0000000001111 00000000110 0000000101 00000100
  0000000001011 0000000001110 00000000101 000000100
  0000000001000 0000000001010 0000000001101 0000000100
  00000000001111 00000000001110 0000000001001 00000000100
  00000000001011 00000000001010 00000000001101 0000000001100
  000000000001111 000000000001110 00000000001001 00000000001100
  000000000001011 000000000001010 000000000001101 00000000001000
  0000000000001111 000000000000001 000000000001001 000000000001100
  0000000000001011 0000000000001110 0000000000001101 000000000001000
  0000000000000111 0000000000001010 0000000000001001 0000000000001100
  0000000000000100 0000000000000110 0000000000000101 0000000000001000
`)

/** nC from 2 to 3. */
export const someAround = codes(`
  11
  001011 10
  000111 00111 011
  0000111 001010 001001 0101
  00000111 000110 000101 0100
  00000100 0000110 0000101 00110
  000000111 00000110 00000101 001000
  00000001111 000000110 000000101 000100
  00000001011 00000001110 00000001101 0000100
  000000001111 00000001010 00000001001 000000100
  000000001011 000000001110 000000001101 00000001100
  000000001000 000000001010 000000001001 00000001000
  0000000001111 0000000001110 0000000001101 000000001100
  0000000001011 0000000001010 0000000001001 0000000001100
  0000000000111 00000000001011 0000000000110 0000000001000
  00000000001001 00000000001000 00000000001010 0000000000001
  00000000000111 00000000000110 00000000000101 00000000000100
`)

/** nC from 4 to 7. */
export const manyAround = codes(`
  1111
  001111 1110
  001011 01111 1101
  001000 01100 01110 1100
  0001111 01010 01011 1011
  0001011 01000 01001 1010
  0001001 001110 001101 1001
  0001000 001010 001001 1000
  00001111 0001110 0001101 01101
  00001011 00001110 0001010 001100
  000001111 00001010 00001101 0001100
  000001011 000001110 00001001 00001100
  000001000 000001010 000001101 00001000
  0000001101 000000111 000001001 000001100
  0000001001 0000001100 0000001011 0000001010
  0000000101 0000001000 0000000111 0000000110
  0000000001 0000000100 0000000011 0000000010
`)

/** nC of -1: the DC coefficients of chroma. */
export const chromaDc = codes(`
  01
  000111 1
  000100 000110 001
  000011 0000011 0000010 000101
  000010 00000011 00000010 0000000
`)

// total_zeros (tables 9-7 to 9-9): a row for each number of coefficients from 1, a word for each number of zeros.

/** Blocks of 15 and 16 coefficients. */
export const zeroCount = codes(`
  1 011 010 0011 0010 00011 00010 000011 000010 0000011 0000010 00000011 00000010 000000011 000000010 000000001
  111 110 101 100 011 0101 0100 0011 0010 00011 00010 000011 000010 000001 000000
  0101 111 110 101 0100 0011 100 011 0010 00011 00010 000001 00001 000000
  00011 111 0101 0100 110 101 100 0011 011 0010 00010 00001 00000
  0101 0100 0011 111 110 101 100 011 0010 00001 0001 00000
  000001 00001 111 110 101 100 011 010 0001 001 000000
  000001 00001 101 100 011 11 010 0001 001 000000
  000001 0001 00001 011 11 10 010 001 000000
  000001 000000 0001 11 10 001 01 00001
  00001 00000 001 11 10 01 0001
  0000 0001 001 010 1 011
  0000 0001 01 1 001
  000 001 1 01
  00 01 1
  0 1
`)

/** The four DC coefficients of chroma. */
export const chromaDcZeroCount = codes(`
  1 01 001 000
  1 01 00
  1 0
`)

/** run_before (table 9-10): a row for each number of zeros left from 1, more than 6 being the last one. */
export const zeroRun = codes(`
  1 0
  1 01 00
  11 10 01 00
  11 10 01 001 000
  11 10 011 010 001 000
  11 000 001 011 010 101 100
  111 110 101 100 011 010 001 0001 00001 000001 0000001 00000001 000000001 0000000001 00000000001
`)
