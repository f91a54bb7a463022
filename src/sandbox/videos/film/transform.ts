/**
 * The transform of H.264 (clauses 8.5.6 to 8.5.12) with one fixed quantiser: a parameter of 24, at which the scale of
 * every step is a whole number and pictures are fine enough not to show their blocks.
 */
export const quantiser = 24

const shift = quantiser / 6
/** Dividers and factors by the place in the block: corner-like, centre-like, the others (24 is a multiple of 6). */
const divider = { even: 13_107, odd: 5243, mixed: 8066 } as const
const factor = { even: 10, odd: 16, mixed: 13 } as const
const quantiserBits = 15 + shift
/** A third of a step: what is smaller is better left out. */
const rounding = Math.floor(2 ** quantiserBits / 3)

const kindAt = Array.from({ length: 16 }, (_, at) => {
  const [isOddRow, isOddColumn] = [(at >> 2) % 2 === 1, at % 2 === 1]
  return isOddRow === isOddColumn ? (isOddRow ? 'odd' : 'even') : 'mixed'
})
const dividers = Int32Array.from(kindAt, (kind) => divider[kind])
const factors = Int32Array.from(kindAt, (kind) => factor[kind])

/** Places of a block in the order in which coefficients are written. */
export const zigzag = Uint8Array.of(0, 1, 4, 8, 5, 2, 3, 6, 9, 12, 13, 10, 7, 11, 14, 15)

/** Transforms a block of 4 by 4 differences in place. */
export function transform(block: Int32Array, at: number): void {
  for (let row = at; row < at + 16; row += 4) butterfly(block, row, 1)
  for (let column = at; column < at + 4; column++) butterfly(block, column, 4)
}

function butterfly(block: Int32Array, at: number, step: number): void {
  const [a, b, c, d] = [block[at]!, block[at + step]!, block[at + 2 * step]!, block[at + 3 * step]!]
  const [outerSum, innerSum, outer, inner] = [a + d, b + c, a - d, b - c]
  block[at] = outerSum + innerSum
  block[at + step] = 2 * outer + inner
  block[at + 2 * step] = outerSum - innerSum
  block[at + 3 * step] = outer - 2 * inner
}

/** The level of an AC coefficient. */
export function quantised(value: number, place: number): number {
  const level = Math.floor((Math.abs(value) * dividers[place]! + rounding) / 2 ** quantiserBits)
  return value < 0 ? -level : level
}

/** The level of a coefficient of the second transform, of DC values. */
export function quantisedDc(value: number): number {
  const level = Math.floor((Math.abs(value) * divider.even + 2 * rounding) / 2 ** (quantiserBits + 1))
  return value < 0 ? -level : level
}

/** What a decoder makes of an AC level. */
export function scaled(level: number, place: number): number {
  return (level * factors[place]!) << shift
}

/** The DC values of the sixteen blocks of luma, transformed once more and halved. */
export function transformDc(values: Int32Array): void {
  hadamard(values)
  for (let at = 0; at < 16; at++) values[at] = values[at]! >> 1
}

/** Levels of luma's DC values as a decoder takes them back. */
export function restoreDc(levels: Int32Array): void {
  hadamard(levels)
  for (let at = 0; at < 16; at++) levels[at] = (levels[at]! * factor.even) << (shift - 2)
}

function hadamard(values: Int32Array): void {
  for (let row = 0; row < 16; row += 4) sumsAndDifferences(values, row, 1)
  for (let column = 0; column < 4; column++) sumsAndDifferences(values, column, 4)
}

function sumsAndDifferences(values: Int32Array, at: number, step: number): void {
  const [a, b, c, d] = [values[at]!, values[at + step]!, values[at + 2 * step]!, values[at + 3 * step]!]
  values[at] = a + b + c + d
  values[at + step] = a + b - c - d
  values[at + 2 * step] = a - b - c + d
  values[at + 3 * step] = a - b + c - d
}

/** The four DC values of a chroma plane, transformed: its own inverse. */
export function transformChromaDc(values: Int32Array, at: number): void {
  const [a, b, c, d] = [values[at]!, values[at + 1]!, values[at + 2]!, values[at + 3]!]
  values[at] = a + b + c + d
  values[at + 1] = a - b + c - d
  values[at + 2] = a + b - c - d
  values[at + 3] = a - b - c + d
}

/** A transformed level of chroma's DC values as a decoder scales it. */
export function scaledChromaDc(value: number): number {
  return ((value * factor.even) << shift) >> 1
}

/** Takes a block of scaled coefficients back to differences, in place. */
export function restore(block: Int32Array, at: number): void {
  for (let row = at; row < at + 16; row += 4) unbutterfly(block, row, 1)
  for (let column = at; column < at + 4; column++) unbutterfly(block, column, 4)
  for (let place = at; place < at + 16; place++) block[place] = (block[place]! + 32) >> 6
}

function unbutterfly(block: Int32Array, at: number, step: number): void {
  const [a, b, c, d] = [block[at]!, block[at + step]!, block[at + 2 * step]!, block[at + 3 * step]!]
  const [sum, difference] = [a + c, a - c]
  const [low, high] = [(b >> 1) - d, b + (d >> 1)]
  block[at] = sum + high
  block[at + step] = difference + low
  block[at + 2 * step] = difference - low
  block[at + 3 * step] = sum - high
}
