import type { BitWriter } from './bit-writer.ts'
import { chromaDcContext, writeBlock } from './cavlc.ts'
import { hadamard, lastColumn, transform } from './transform.ts'

/** One component of a picture. */
export interface Plane {
  readonly width: number
  readonly samples: Uint8Array
}

/** A picture as video has it: brightness, and two components of colour at half the width and height. */
export interface Planes {
  readonly luma: Plane
  readonly chroma: readonly [blue: Plane, red: Plane]
}

/**
 * Quantiser parameters (H.264, clause 8.5) of brightness: coarse enough for small files and fine enough that nobody sees
 * it in a moving picture, and one whose steps are a quarter as large. That of colour is 6 less, which halves its steps.
 */
export const quantiser = { usual: 34, fine: 22, chromaOffset: -6 } as const

/** Steps of AC levels by their place in a block, and the factors by which a decoder takes levels back. */
const scales = { even: [64, 256], odd: [156, 400], mixed: [100, 320] } as const
const scaleAt = Array.from({ length: 16 }, (_, at) => {
  const [isOddRow, isOddColumn] = [(at >> 2) % 2 === 1, at % 2 === 1]
  return scales[isOddRow === isOddColumn ? (isOddRow ? 'odd' : 'even') : 'mixed']
})
const steps = Int32Array.from(scaleAt, ([step]) => step)
const factors = Int32Array.from(scaleAt, ([, factor]) => factor)

/** Places of a block in the order in which coefficients are written. */
const zigzag = Uint8Array.of(0, 1, 4, 8, 5, 2, 3, 6, 9, 12, 13, 10, 7, 11, 14, 15)
/** What a macroblock leaves for the one on its right: for four rows of blocks of brightness, two of blue, two of red. */
export interface Edge {
  /** The prediction: mean of the last column of samples, as a decoder has it; one for all of brightness. */
  readonly means: number[]
  /** How many AC coefficients the last block has; -1 where there is none. */
  readonly counts: number[]
}

/** On the left of a row there is nothing, and the prediction is middle grey. */
export const rowStart: Edge = {
  means: [128, 128, 128, 128, 128, 128, 128, 128],
  counts: [-1, -1, -1, -1, -1, -1, -1, -1],
}

/** One component of the macroblock in hand. Macroblocks are coded one after the other: one of each will do for all. */
interface Component {
  /** Blocks in a row, and rows of blocks. */
  readonly size: 2 | 4
  /** Its first row in an edge. */
  readonly row: number
  /** Blocks in the order in which they are written, by their places in rows. */
  readonly order: readonly number[]
  /** Block by block, what the transform makes of the samples; then what a decoder takes the levels back to. */
  readonly coefficients: Int32Array
  /** AC levels in zigzag order, from 1 in every block. */
  readonly levels: Int32Array
  /** DC levels of the blocks, and what a decoder takes them back to. */
  readonly dc: Int32Array
  readonly restored: Int32Array
  /** Numbers of AC coefficients, each row after that of the last block of the macroblock on the left. */
  readonly counts: Int8Array
}

function component(size: 2 | 4, row: number, order: readonly number[]): Component {
  const blocks = size * size
  const [coefficients, levels] = [new Int32Array(blocks * 16), new Int32Array(blocks * 16)]
  const [dc, restored] = [new Int32Array(blocks), new Int32Array(blocks)]
  return { size, row, order, coefficients, levels, dc, restored, counts: new Int8Array(blocks + size) }
}

const luma = component(4, 0, [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15])
const blue = component(2, 4, [0, 1, 2, 3])
const red = component(2, 6, [0, 1, 2, 3])
const zigzagDc = new Int32Array(16)

/** Where a macroblock stands. */
interface Place {
  /** First column of the scene that it shows; even. */
  readonly x: number
  readonly row: number
  readonly left: Edge
  /**
   * The edge that the next macroblock was coded for. This one is coded finely enough to leave its means, though what is
   * on its left is another.
   */
  readonly wanted?: Edge
  /** Quantiser in relation to that of the macroblock on the left, or of the slice. */
  readonly deltaQuantiser?: number
}

/**
 * Codes a macroblock as `I_16x16`, predicted by the mean of the column on its left alone: every row is a slice of its own.
 * @returns what it leaves for the one on its right
 */
export function writeMacroblock(out: BitWriter, scene: Planes, place: Place): Edge {
  const edge: Edge = { means: [0, 0, 0, 0, 0, 0, 0, 0], counts: [0, 0, 0, 0, 0, 0, 0, 0] }
  const hasAc = code(luma, scene.luma, place, edge)
  const hasBlue = code(blue, scene.chroma[0], place, edge)
  const hasRed = code(red, scene.chroma[1], place, edge)
  const pattern = hasBlue || hasRed ? 2 : hasLevels(blue.dc) || hasLevels(red.dc) ? 1 : 0
  // 3 is prediction by the mean; then come what there is of chroma, and whether there is AC of luma.
  out.unsigned(3 + 4 * pattern + (hasAc ? 12 : 0))
  out.unsigned(0) // intra_chroma_pred_mode: by the mean too
  out.signed(place.deltaQuantiser ?? 0)
  for (let at = 0; at < 16; at++) zigzagDc[at] = luma.dc[zigzag[at]!]!
  writeBlock(out, zigzagDc, 0, 16, context(luma, 0))
  if (hasAc) writeAc(out, luma)
  if (pattern > 0) for (const { dc } of [blue, red]) writeBlock(out, dc, 0, 4, chromaDcContext)
  if (pattern > 1) for (const part of [blue, red]) writeAc(out, part)
  return edge
}

function hasLevels(levels: Int32Array): boolean {
  return levels.some((level) => level !== 0)
}

function writeAc(out: BitWriter, part: Component): void {
  for (const block of part.order) writeBlock(out, part.levels, block * 16 + 1, 15, context(part, block))
}

/** `nC`: the mean of the counts of the blocks on the left and above (clause 9.2.1); above the slice there are none. */
function context({ size, counts }: Component, block: number): number {
  const at = block + Math.floor(block / size) + 1
  const left = counts[at - 1]!
  if (block < size) return Math.max(0, left)
  const above = counts[at - size - 1]!
  return left < 0 ? above : (left + above + 1) >> 1
}

/** Finds the levels of a component, and its part of the edge. @returns whether there are any AC levels */
function code(part: Component, { samples, width }: Plane, place: Place, edge: Edge): boolean {
  const { size, coefficients, levels, dc, counts } = part
  const { left, wanted } = place
  const x = (place.x * size) / 4
  const coarseness = (size / 2) * (wanted === undefined ? 1 : 0.25)
  let total = 0
  for (let line = 0; line < size; line++) {
    counts[line * (size + 1)] = left.counts[part.row + line]!
    for (let column = 0; column < size; column++) {
      const block = line * size + column
      const first = block * 16
      transform(coefficients, first, samples, ((place.row * size + line) * width + column) * 4 + x, width)
      dc[block] = coefficients[first]! - left.means[part.row + line]! * 16
      const count = quantise(coefficients, levels, first, coarseness)
      counts[line * (size + 1) + column + 1] = count
      total += count
    }
    edge.counts[part.row + line] = counts[line * (size + 1) + size]!
  }
  // The DC values are transformed once more. A level of theirs is so many steps of a sample.
  const sampleStep = wanted === undefined ? 2 : 0.5
  hadamard(dc, size)
  for (let at = 0; at < dc.length; at++) dc[at] = Math.round(dc[at]! / (16 * size * size * sampleStep))
  findMeans(part, left, sampleStep, edge)
  while (wanted !== undefined) {
    const upper = wanted.means[part.row]! - edge.means[part.row]!
    const lower = wanted.means[part.row + size - 1]! - edge.means[part.row + size - 1]!
    if (upper === 0 && lower === 0) break
    dc[0]! += upper + lower
    dc[2]! += upper - lower
    findMeans(part, left, sampleStep, edge)
  }
  return total > 0
}

/** Takes the AC coefficients of a block to levels and back. @returns how many are not 0 */
function quantise(coefficients: Int32Array, levels: Int32Array, first: number, coarseness: number): number {
  let count = 0
  for (let at = 1; at < 16; at++) {
    const place = first + zigzag[at]!
    const step = steps[zigzag[at]!]! * coarseness
    // What is smaller than two thirds of a step is left out.
    const size = Math.abs(coefficients[place]!) * 3
    const level =
      size < 2 * step ? 0 : Math.floor((size + step) / (3 * step)) * Math.sign(coefficients[place]!)
    levels[first + at] = level
    coefficients[place] = level * factors[zigzag[at]!]! * coarseness
    if (level !== 0) count++
  }
  return count
}

/** Finds the means of the last column as a decoder has it. */
function findMeans(
  { size, row, dc, restored, coefficients }: Component,
  left: Edge,
  sampleStep: number,
  edge: Edge,
): void {
  restored.set(dc)
  hadamard(restored, size)
  let whole = 0
  for (let line = 0; line < size; line++) {
    const block = line * size + size - 1
    coefficients[block * 16] = 64 * (restored[block]! * sampleStep + left.means[row + line]!)
    const sum = lastColumn(coefficients, block * 16)
    edge.means[row + line] = (sum + 2) >> 2
    whole += sum
  }
  if (size === 4) edge.means.fill((whole + 8) >> 4, 0, 4)
}
