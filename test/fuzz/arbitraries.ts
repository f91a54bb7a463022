import * as fc from 'fast-check'

/** Bytes in pieces, cut at any places. */
export function cutAt(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const inside = places.map((place) => place % (bytes.length + 1)).toSorted((one, other) => one - other)
  return [...inside, bytes.length].map((to, at) => bytes.subarray(at === 0 ? 0 : inside[at - 1], to))
}

/** The same for a text. */
export function cutText(text: string, places: readonly number[]): string[] {
  const inside = places.map((place) => place % (text.length + 1)).toSorted((one, other) => one - other)
  return [...inside, text.length].map((to, at) => text.slice(at === 0 ? 0 : inside[at - 1], to))
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
export type Change =
  | { readonly what: 'flip'; readonly at: number; readonly bit: number }
  | { readonly what: 'cut'; readonly at: number }
  | { readonly what: 'remove'; readonly at: number; readonly length: number }
  | { readonly what: 'repeat'; readonly at: number; readonly length: number }
  | { readonly what: 'insert'; readonly at: number; readonly text: string }

const at = fc.nat(65_536)

/** @param words what is put in */
export function changes(words: readonly string[]): fc.Arbitrary<Change[]> {
  const length = fc.integer({ min: 1, max: 40 })
  const change: fc.Arbitrary<Change> = fc.oneof(
    fc.record({ what: fc.constant('flip' as const), at, bit: fc.nat(7) }),
    fc.record({ what: fc.constant('cut' as const), at }),
    fc.record({ what: fc.constant('remove' as const), at, length }),
    fc.record({ what: fc.constant('repeat' as const), at, length }),
    fc.record({ what: fc.constant('insert' as const), at, text: fc.constantFrom(...words) }),
  )
  return fc.array(change, { minLength: 1, maxLength: 3 })
}

/** The bytes with these changes; a place behind their end is counted from the beginning again. */
export function changed(bytes: Uint8Array, all: readonly Change[]): Buffer {
  let result = Buffer.from(bytes)
  for (const change of all) {
    const from = change.at % (result.length + 1)
    const before = result.subarray(0, from)
    const after = result.subarray(from)
    if (change.what === 'cut') result = before
    else if (change.what === 'remove') result = Buffer.concat([before, after.subarray(change.length)])
    else if (change.what === 'repeat')
      result = Buffer.concat([before, after.subarray(0, change.length), after])
    else if (change.what === 'insert') result = Buffer.concat([before, Buffer.from(change.text), after])
    else if (from < result.length) result[from]! ^= 1 << change.bit
  }
  return result
}
