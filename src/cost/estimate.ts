import { amountOf, times, type Money } from './amount.ts'
import type { Creation, Variant } from './creation.ts'
import { priceOf, pricesFor, type ModelPrice, type Prices } from './prices.ts'

export interface Used {
  /** The ids of the model: as asked, and as the reply names it. */
  readonly models: readonly (string | null)[]
  readonly tokens: TokenCounts | null
  readonly images?: (Variant & { readonly count: number }) | undefined
  /** The seconds are of all videos together. */
  readonly video?: (Variant & { readonly seconds: number | null }) | undefined
}

/** Cached tokens and those of pictures are part of the input; those of reasoning of the output. */
export interface TokenCounts {
  readonly input_tokens: number | null
  readonly cached_tokens: number | null
  readonly output_tokens: number | null
  readonly input_image_tokens?: number | null
}

export interface KnownCost extends Money {
  /** What nobody knows yet, as a clause. */
  readonly without?: string
}

interface UnknownCost {
  readonly amount: null
  readonly reason: string
}

export type Cost = KnownCost | UnknownCost

/** What a call has cost: by tokens where the price has them and the gateway reports them, else by image or second. */
export function costOf(prices: Prices, { models, tokens, images, video }: Used): Cost {
  const price = priceOf(prices, models)
  if (price === undefined) return noPrice(models)
  const isCounted = tokens !== null && tokens.input_tokens !== null && tokens.output_tokens !== null
  if (isCounted && price.input !== undefined) return tokenCost(price, tokens)
  if (images !== undefined && price.image !== undefined) {
    return pieces(price, 'image', images, images.count, onlyOf)
  }
  if (video !== undefined && price.second !== undefined) {
    if (video.seconds === null) return unknown('how long the video plays is not known')
    return pieces(price, 'second', video, video.seconds, onlyOf)
  }
  if (price.input !== undefined) return unknown('the gateway reported no token counts')
  return otherUnit(models, video === undefined ? (images === undefined ? 'text' : 'image') : 'video')
}

/**
 * At the highest price that it may have, without what nobody knows yet. The tokens of text are a quarter of its bytes; those of
 * pictures and files are left out.
 */
export function costBefore(prices: Prices, creation: Creation): Cost {
  const { model, count, of, variant = { size: null, quality: null }, seconds = null } = creation
  const price = priceOf(prices, [model])
  if (price === undefined) return noPrice([model])
  if (of === 'image' && price.image !== undefined) return pieces(price, 'image', variant, count, highestOf)
  if (of === 'video' && price.second !== undefined) {
    if (seconds !== null) return pieces(price, 'second', variant, count * seconds, highestOf)
    return { amount: 0n, currency: price.currency, without: 'how long the video will play' }
  }
  if (price.input === undefined || of === 'video') return otherUnit([model], of)
  const { body, maxOutputTokens = null } = creation
  const input = Math.ceil(textBytes(body) / 4)
  const cost = tokenCost(price, { input_tokens: input, cached_tokens: 0, output_tokens: maxOutputTokens })
  return maxOutputTokens === null ? { ...cost, without: 'how many tokens will be generated' } : cost
}

function tokenCost(price: ModelPrice, tokens: TokenCounts): KnownCost {
  const {
    input: each = 0,
    output: eachOut = 0,
    cached_input: eachCached = each,
    image_input: eachImage = each,
  } = price
  const input = tokens.input_tokens ?? 0
  const cached = Math.min(tokens.cached_tokens ?? 0, input)
  // Whether the cached ones are of pictures is not reported: they are taken from the text first.
  const pictures = Math.min(tokens.input_image_tokens ?? 0, input - cached)
  const millions =
    amountOf(each) * BigInt(input - cached - pictures) +
    amountOf(eachCached) * BigInt(cached) +
    amountOf(eachImage) * BigInt(pictures) +
    amountOf(eachOut) * BigInt(tokens.output_tokens ?? 0)
  return { amount: millions / 1_000_000n, currency: price.currency }
}

function pieces(
  price: ModelPrice,
  unit: 'image' | 'second',
  variant: Variant,
  count: number,
  choose: (prices: readonly number[]) => number | undefined,
): Cost {
  const each = choose(pricesFor(price[unit]!, variant))
  if (each !== undefined) return { amount: times(amountOf(each), count), currency: price.currency }
  const words = [variant.size, variant.quality].filter((word) => word !== null)
  const which = words.length === 0 ? 'no given size or quality' : words.join(', ')
  return unknown(`there is no price of ${unit === 'image' ? 'an image' : 'a second'} of ${which}`)
}

function onlyOf([first, ...others]: readonly number[]): number | undefined {
  return others.every((price) => price === first) ? first : undefined
}

function highestOf(prices: readonly number[]): number | undefined {
  return prices.length === 0 ? undefined : Math.max(...prices)
}

function otherUnit(models: readonly (string | null)[], of: Creation['of']): UnknownCost {
  const unit = { text: 'tokens', image: 'images', video: 'seconds of video' }[of]
  return unknown(`the price of ${nameOf(models)} is not one of ${unit}`)
}

function noPrice(models: readonly (string | null)[]): UnknownCost {
  return unknown(`no price for ${nameOf(models)}`)
}

function nameOf(models: readonly (string | null)[]): string {
  return models.find((id) => id !== null) ?? 'the model that the gateway chooses'
}

function unknown(reason: string): UnknownCost {
  return { amount: null, reason }
}

/** Longer pieces of nothing but these characters are media as base64, which has another price. */
const base64 = /^[A-Za-z0-9+/=_:;,.-]{1000,}$/

/** Bytes of all text in a request body; media in it do not count. */
function textBytes(value: unknown): number {
  if (typeof value === 'string') return base64.test(value) ? 0 : Buffer.byteLength(value)
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce((sum: number, inner) => sum + textBytes(inner), 0)
}
