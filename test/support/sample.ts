import { createHash } from 'node:crypto'

// `vitest.config.ts` sets both for its projects.
const { TEST_DEPTH = 'sample', TEST_SEED } = process.env
/** Whether all of what is exhaustive is tried, as by `npm run test:long`, or a sample of it. */
export const isWhole = TEST_DEPTH === 'full'
/** The same for a month: what fails for one fails for all, and the next month tries something else. */
export const seed = TEST_SEED ?? new Date().toISOString().slice(0, 7)

/** A number from 0 to 2^32 - 1 that depends on the seed and a name alone: of a random choice, or of loops of a test's own. */
export function seedOf(name: string): number {
  return createHash('sha256').update(`${seed}\n${name}`).digest().readUInt32BE()
}

/** How many at this depth. */
export const amount = (some: number, all: number): number => (isWhole ? all : some)

/**
 * Some of the items, in their order; at full depth all of them. A hash of the seed and the name of each decides, so that one
 * more does not move the others.
 * @param wanted a share, below 1, or how many
 * @param groupOf so many of each group, rather than of all
 */
export function sample<Item>(
  items: readonly Item[],
  wanted: number,
  nameOf: (item: Item) => string = String,
  groupOf: (item: Item) => unknown = () => '',
): readonly Item[] {
  if (isWhole) return items
  const ranked = items.map((item) => ({ item, rank: seedOf(nameOf(item)) }))
  if (wanted < 1) return ranked.filter(({ rank }) => rank < wanted * 2 ** 32).map(({ item }) => item)
  const groups = Map.groupBy(ranked, ({ item }) => groupOf(item))
  const chosen = [...groups.values()].flatMap((group) =>
    group.toSorted((a, b) => a.rank - b.rank).slice(0, wanted),
  )
  const isChosen = new Set(chosen)
  return ranked.filter((one) => isChosen.has(one)).map(({ item }) => item)
}

/** Of a property, for `fc.assert`: a tenth of its runs, but not fewer than five, or all. */
export function runs(all: number): { readonly numRuns: number; readonly seed: number } {
  const share = Math.ceil(all * amount(0.1, 1))
  return { numRuns: Math.min(all, Math.max(5, share)), seed: seedOf('properties') | 0 }
}
