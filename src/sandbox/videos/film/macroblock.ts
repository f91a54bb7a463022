import type { BitWriter } from './bit-writer.ts'
import { chromaDcContext, writeBlock } from './cavlc.ts'
import type { CountMap } from './count-map.ts'
import type { Plane, Planes } from './planes.ts'
import { modes, modesFor, predict } from './predict.ts'
import type { Mode, Surround } from './predict.ts'
import {
  quantised,
  quantisedDc,
  restore,
  restoreDc,
  scaled,
  scaledChromaDc,
  transform,
  transformChromaDc,
  transformDc,
  zigzag,
} from './transform.ts'

/** A macroblock's place: in macroblocks of the picture, and in pixels of the scene. */
export interface Place {
  readonly column: number
  readonly row: number
  /** First column of the scene that the picture shows. */
  readonly offset: number
}

/** Blocks of luma in the order in which they are written, by their places in rows. */
const blockOrder = [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15] as const

const foretold = new Int32Array(256)
const best = new Int32Array(256)

/** A plane's share of a macroblock on its way into the stream. */
interface Residual {
  readonly mode: Mode
  /** Levels of each block's 15 AC coefficients, in zigzag order from 1; place 0 is not used. */
  readonly levels: Int32Array
  /** Levels of the DC values: in zigzag order for luma, in rows for chroma. */
  readonly dc: Int32Array
  readonly hasAc: boolean
  readonly hasDc: boolean
}

/**
 * Codes a macroblock from its surroundings in the same picture (`I_16x16`), and paints what a decoder will see.
 * @param firstType 0 in an I slice, 5 in a P slice: where the types of such macroblocks begin
 */
export function writeIntra(
  out: BitWriter,
  scene: Planes,
  picture: Planes,
  counts: CountMap,
  place: Place,
  firstType: number,
): void {
  const surround: Surround = { hasTop: place.row > 0, hasLeft: place.column > 0 }
  const luma = codePlane(scene.luma, picture.luma, place, 16, modesFor(surround), surround)
  const blueModes = modesFor(surround)
  const blue = codePlane(scene.chroma[0], picture.chroma[0], place, 8, blueModes, surround)
  // Both planes of colour share one mode.
  const red = codePlane(scene.chroma[1], picture.chroma[1], place, 8, [blue.mode], surround)
  const chromaPattern = blue.hasAc || red.hasAc ? 2 : blue.hasDc || red.hasDc ? 1 : 0
  out.unsigned(firstType + 1 + luma.mode + 4 * chromaPattern + (luma.hasAc ? 12 : 0))
  out.unsigned(chromaModes[blue.mode])
  out.signed(0)
  const { column, row } = place
  writeBlock(out, luma.dc, 0, 16, counts.luma.around(column * 4, row * 4))
  for (const block of blockOrder) {
    const [x, y] = [column * 4 + (block & 3), row * 4 + (block >> 2)]
    const context = counts.luma.around(x, y)
    counts.luma.set(x, y, luma.hasAc ? writeBlock(out, luma.levels, block * 16 + 1, 15, context) : 0)
  }
  if (chromaPattern > 0) for (const { dc } of [blue, red]) writeBlock(out, dc, 0, 4, chromaDcContext)
  for (const [index, { levels }] of [blue, red].entries()) {
    const map = counts.chroma[index]!
    for (let block = 0; block < 4; block++) {
      const [x, y] = [column * 2 + (block & 1), row * 2 + (block >> 1)]
      const context = map.around(x, y)
      map.set(x, y, chromaPattern === 2 ? writeBlock(out, levels, block * 16 + 1, 15, context) : 0)
    }
  }
}

/** The bit stream numbers the modes of chroma in another order. */
const chromaModes: Readonly<Record<Mode, number>> = {
  [modes.dc]: 0,
  [modes.horizontal]: 1,
  [modes.vertical]: 2,
  [modes.plane]: 3,
}

function codePlane(
  scene: Plane,
  picture: Plane,
  { column, row, offset }: Place,
  size: 16 | 8,
  allowed: readonly Mode[],
  surround: Surround,
): Residual {
  const source = row * size * scene.width + column * size + (size === 16 ? offset : offset / 2)
  const target = row * size * picture.width + column * size
  const mode = chooseMode(scene, source, picture, target, size, allowed, surround)
  const perRow = size / 4
  const blocks = perRow * perRow
  const coefficients = new Int32Array(size * size)
  for (let block = 0; block < blocks; block++) {
    const [left, top] = [(block % perRow) * 4, Math.floor(block / perRow) * 4]
    for (let at = 0; at < 16; at++) {
      const [x, y] = [left + (at & 3), top + (at >> 2)]
      coefficients[block * 16 + at] = scene.samples[source + y * scene.width + x]! - best[y * size + x]!
    }
    transform(coefficients, block * 16)
  }
  const dc = Int32Array.from({ length: blocks }, (_, block) => coefficients[block * 16]!)
  const dcLevels = size === 16 ? codeLumaDc(dc) : codeChromaDc(dc)
  const levels = new Int32Array(size * size)
  let hasAc = false
  for (let block = 0; block < blocks; block++) {
    const first = block * 16
    for (let at = 1; at < 16; at++) {
      const from = zigzag[at]!
      const level = quantised(coefficients[first + from]!, from)
      levels[first + at] = level
      coefficients[first + from] = scaled(level, from)
      if (level !== 0) hasAc = true
    }
    coefficients[first] = dc[block]!
    restore(coefficients, first)
  }
  paint(picture, target, size, coefficients)
  return { mode, levels, dc: dcLevels, hasAc, hasDc: dcLevels.some((level) => level !== 0) }
}

/** Leaves the foretold samples of the mode that comes nearest in `best`. */
function chooseMode(
  scene: Plane,
  source: number,
  picture: Plane,
  target: number,
  size: 16 | 8,
  allowed: readonly Mode[],
  surround: Surround,
): Mode {
  let chosen = allowed[0]!
  let least = Infinity
  for (const mode of allowed) {
    predict(picture, target, size, mode, surround, foretold)
    let distance = 0
    for (let y = 0; y < size; y++) {
      for (let x = 0; x < size; x++) {
        distance += Math.abs(scene.samples[source + y * scene.width + x]! - foretold[y * size + x]!)
      }
    }
    if (distance >= least) continue
    least = distance
    chosen = mode
    best.set(foretold)
  }
  return chosen
}

/** Replaces the DC values by what a decoder makes of them. @returns their levels, in zigzag order */
function codeLumaDc(dc: Int32Array): Int32Array {
  transformDc(dc)
  for (let at = 0; at < 16; at++) dc[at] = quantisedDc(dc[at]!)
  const levels = Int32Array.from(zigzag, (place) => dc[place]!)
  restoreDc(dc)
  return levels
}

function codeChromaDc(dc: Int32Array): Int32Array {
  transformChromaDc(dc, 0)
  const levels = dc.map(quantisedDc)
  dc.set(levels)
  transformChromaDc(dc, 0)
  for (let at = 0; at < 4; at++) dc[at] = scaledChromaDc(dc[at]!)
  return levels
}

function paint({ samples, width }: Plane, at: number, size: 16 | 8, differences: Int32Array): void {
  const perRow = size / 4
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      const block = (y >> 2) * perRow + (x >> 2)
      const value = best[y * size + x]! + differences[block * 16 + (y & 3) * 4 + (x & 3)]!
      samples[at + y * width + x] = value < 0 ? 0 : value > 255 ? 255 : value
    }
  }
}
