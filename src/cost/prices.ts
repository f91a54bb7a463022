import { withoutDate } from '../contract/known-models.ts'
import type { Variant } from './creation.ts'

/** By size and quality, in either order: `{ 1024x1024: { low: 0.01 }, default: 0.04 }`. A mapping has no prototype. */
export type SizedPrice = number | { readonly [sizeOrQuality: string]: SizedPrice }

export interface ModelPrice {
  readonly currency: string
  /** A million tokens of each; `output` is there when `input` is. */
  readonly input?: number
  readonly output?: number
  /** Left out, such tokens cost what others of the input do. */
  readonly cached_input?: number
  readonly image_input?: number
  readonly image?: SizedPrice
  readonly second?: SizedPrice
}

export type Prices = Readonly<Record<string, ModelPrice>>

/** A dated snapshot has the price of its id, unless it has its own. @param ids the first that has a price wins */
export function priceOf(prices: Prices, ids: readonly (string | null)[]): ModelPrice | undefined {
  const known = ids.flatMap((id) => (id === null ? [] : [id, withoutDate(id)]))
  const id = known.find((name) => Object.hasOwn(prices, name))
  return id === undefined ? undefined : prices[id]
}

/** What names a size among the keys of a price; other words name a quality. */
export const sizeWord = /^\d+(?:x\d+|[kp])$/i

/**
 * Every price that a variant may have. What is not listed has that of `default`, there or further out; without one, any may be
 * that of what was not asked for.
 */
export function pricesFor(price: SizedPrice, variant: Variant, outer?: SizedPrice): readonly number[] {
  if (typeof price === 'number') return [price]
  const names = Object.keys(price)
  const asked = names.some((name) => sizeWord.test(name)) ? variant.size : variant.quality
  const otherwise = price['default'] ?? outer
  const found = price[asked ?? 'auto'] ?? otherwise
  const candidates = found !== undefined ? [found] : asked === null ? Object.values(price) : []
  return candidates.flatMap((candidate) => pricesFor(candidate, variant, otherwise))
}
