import * as fc from 'fast-check'

/** Bytes or a text in pieces, cut at any places. */
export function cutAt<Whole extends Uint8Array | string>(whole: Whole, places: readonly number[]): Whole[] {
  const inside = places.map((place) => place % (whole.length + 1)).toSorted((one, other) => one - other)
  return [...inside, whole.length].map((to, at) => whole.slice(inside[at - 1] ?? 0, to) as Whole)
}

/** Where to cut: nowhere, at some places, or at so many that most pieces are single bytes. */
export const places: fc.Arbitrary<number[]> = fc.oneof(
  fc.array(fc.nat(4_000), { maxLength: 4 }),
  fc.array(fc.nat(400), { maxLength: 20 }),
  fc.constant(Array.from({ length: 400 }, (_, at) => at)),
)

/** Texts joined from these words and whatever else is given. */
export function textOf(words: readonly string[], ...others: readonly fc.Arbitrary<string>[]) {
  return fc
    .array(fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...words) }, ...others), { maxLength: 24 })
    .map((parts) => parts.join(''))
}

/** One small change of bytes: flipped bits, bytes cut off, taken out, put in or repeated. */
export interface Change {
  readonly what: 'flip' | 'cut' | 'remove' | 'repeat' | 'insert'
  readonly at: number
  readonly bit: number
  readonly length: number
  readonly text: string
}

/** @param words what is put in */
export function changes(words: readonly string[]): fc.Arbitrary<Change[]> {
  const change = fc.record({
    what: fc.constantFrom('flip', 'cut', 'remove', 'repeat', 'insert'),
    at: fc.nat(65_536),
    bit: fc.nat(7),
    length: fc.integer({ min: 1, max: 40 }),
    text: fc.constantFrom(...words),
  })
  return fc.array(change, { minLength: 1, maxLength: 3 })
}

/** The bytes with these changes; a place behind their end is counted from the beginning again. */
export function changed(bytes: Uint8Array, all: readonly Change[]): Buffer {
  let result = Buffer.from(bytes)
  for (const { what, at, bit, length, text } of all) {
    const from = at % (result.length + 1)
    const [before, after] = [result.subarray(0, from), result.subarray(from)]
    if (what === 'cut') result = before
    else if (what === 'remove') result = Buffer.concat([before, after.subarray(length)])
    else if (what === 'repeat') result = Buffer.concat([before, after.subarray(0, length), after])
    else if (what === 'insert') result = Buffer.concat([before, Buffer.from(text), after])
    else if (from < result.length) result[from]! ^= 1 << bit
  }
  return result
}
