/** The transform of 4 by 4 samples (clause 8.5.6). */
export function transform(
  to: Int32Array,
  first: number,
  samples: Uint8Array,
  from: number,
  width: number,
): void {
  for (let y = 0; y < 4; y++) {
    const at = from + y * width
    butterfly(to, first + y * 4, 1, samples[at]!, samples[at + 1]!, samples[at + 2]!, samples[at + 3]!)
  }
  for (let at = first; at < first + 4; at++) {
    butterfly(to, at, 4, to[at]!, to[at + 4]!, to[at + 8]!, to[at + 12]!)
  }
}

function butterfly(
  to: Int32Array,
  at: number,
  step: number,
  a: number,
  b: number,
  c: number,
  d: number,
): void {
  const [outerSum, innerSum, outer, inner] = [a + d, b + c, a - d, b - c]
  to[at] = outerSum + innerSum
  to[at + step] = 2 * outer + inner
  to[at + 2 * step] = outerSum - innerSum
  to[at + 3 * step] = outer - 2 * inner
}

/** Sums and differences of a square of values: but for a factor its own inverse. */
export function hadamard(values: Int32Array, size: 2 | 4): void {
  for (let at = 0; at < size; at++) sumsAndDifferences(values, at * size, 1, size)
  for (let at = 0; at < size; at++) sumsAndDifferences(values, at, size, size)
}

function sumsAndDifferences(values: Int32Array, at: number, step: number, size: 2 | 4): void {
  const a = values[at]!
  const b = values[at + step]!
  const c = size === 2 ? 0 : values[at + 2 * step]!
  const d = size === 2 ? 0 : values[at + 3 * step]!
  values[at] = a + b + c + d
  values[at + step] = size === 2 ? a - b : a + b - c - d
  if (size === 2) return
  values[at + 2 * step] = a - b - c + d
  values[at + 3 * step] = a - b + c - d
}

/** The sum of the last column of a block as a decoder has it (the inverse transform, clause 8.5.12). */
export function lastColumn(coefficients: Int32Array, first: number): number {
  const end = (row: number) => {
    const at = first + row * 4
    return coefficients[at]! - coefficients[at + 1]! + coefficients[at + 2]! - (coefficients[at + 3]! >> 1)
  }
  const [a, b, c, d] = [end(0), end(1), end(2), end(3)]
  const [sum, difference, low, high] = [a + c, a - c, (b >> 1) - d, b + (d >> 1)]
  return sample(sum + high) + sample(difference + low) + sample(difference - low) + sample(sum - high)
}

function sample(value: number): number {
  return Math.min(255, Math.max(0, (value + 32) >> 6))
}
