import { amountOf, times, type Amount } from './amount.ts'
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

export interface KnownCost {
  readonly amount: Amount
  readonly currency: string
  /** What nobody knows yet, as a clause. */
  readonly without?: string
}

export interface UnknownCost {
  readonly amount: null
  readonly code: 'no_price' | 'no_usage'
  readonly reason: string
}

export type Cost = KnownCost | UnknownCost

/** What a call has cost: by tokens where the price has them and the gateway reports them, else by image or second. */
export function costOf(prices: Prices, used: Used): Cost {
  const price = priceOf(prices, used.models)
  if (price === undefined) return noPrice(used.models)
  const { tokens, images, video } = used
  if (tokens !== null && price.input !== undefined) {
    const { input_tokens: input, output_tokens: output } = tokens
    if (input !== null && output !== null) return tokenCost(price, tokens, input, output)
  }
  if (images !== undefined && price.image !== undefined) {
    return pieces(price, single(pricesFor(price.image, images)), images.count, describe('an image', images))
  }
  if (video !== undefined && price.second !== undefined) {
    if (video.seconds === null) return unknown('no_usage', 'how long the video plays is not known')
    return pieces(price, single(pricesFor(price.second, video)), video.seconds, describe('a second', video))
  }
  if (price.input !== undefined) return unknown('no_usage', 'the gateway reported no token counts')
  const unit = video === undefined ? (images === undefined ? 'tokens' : 'images') : 'seconds of video'
  return unknown('no_price', `the price of ${nameOf(used.models)} is not one of ${unit}`)
}

/**
 * At the highest price that it may have, without what nobody knows yet. The tokens of text are a quarter of its bytes; those of
 * pictures and files are left out.
 */
export function costBefore(prices: Prices, creation: Creation): Cost {
  const { model, count, of, variant = { size: null, quality: null }, seconds = null } = creation
  const price = priceOf(prices, [model])
  if (price === undefined) return noPrice([model])
  const sized = of === 'image' ? price.image : of === 'video' ? price.second : undefined
  if (sized !== undefined) {
    const highest = highestOf(pricesFor(sized, variant))
    const unit = describe(of === 'image' ? 'an image' : 'a second', variant)
    if (of === 'video' && seconds === null) {
      return { amount: 0n, currency: price.currency, without: 'how long the video will play' }
    }
    return pieces(price, highest, of === 'video' ? count * seconds! : count, unit)
  }
  if (price.input === undefined || of === 'video') {
    const unit = { text: 'tokens', image: 'images', video: 'seconds of video' }[of]
    return unknown('no_price', `the price of ${nameOf([model])} is not one of ${unit}`)
  }
  const { body, maxOutputTokens = null } = creation
  const input = Math.ceil(textBytes(body) / 4)
  const cost = tokenCost(price, { cached_tokens: 0 }, input, maxOutputTokens ?? 0)
  return maxOutputTokens === null ? { ...cost, without: 'how many tokens will be generated' } : cost
}

function tokenCost(
  price: ModelPrice,
  { cached_tokens, input_image_tokens }: Pick<TokenCounts, 'cached_tokens' | 'input_image_tokens'>,
  input: number,
  output: number,
): KnownCost {
  const {
    input: each = 0,
    output: eachOut = 0,
    cached_input: eachCached = each,
    image_input: eachImage = each,
  } = price
  const cached = Math.min(cached_tokens ?? 0, input)
  // Whether the cached ones are of pictures is not reported: they are taken from the text first.
  const pictures = Math.min(input_image_tokens ?? 0, input - cached)
  const millions =
    amountOf(each) * BigInt(input - cached - pictures) +
    amountOf(eachCached) * BigInt(cached) +
    amountOf(eachImage) * BigInt(pictures) +
    amountOf(eachOut) * BigInt(output)
  return { amount: millions / 1_000_000n, currency: price.currency }
}

function pieces({ currency }: ModelPrice, each: number | undefined, count: number, unit: string): Cost {
  if (each === undefined) return unknown('no_price', `there is no price of ${unit}`)
  return { amount: times(amountOf(each), count), currency }
}

function single(prices: readonly number[]): number | undefined {
  const [first, ...others] = prices
  return others.every((price) => price === first) ? first : undefined
}

function highestOf(prices: readonly number[]): number | undefined {
  return prices.length === 0 ? undefined : Math.max(...prices)
}

function describe(unit: string, { size, quality }: Variant): string {
  const words = [size, quality].filter((word) => word !== null)
  return words.length === 0 ? `${unit} of no given size or quality` : `${unit} of ${words.join(', ')}`
}

function noPrice(models: readonly (string | null)[]): UnknownCost {
  return unknown('no_price', `no price for ${nameOf(models)}`)
}

function nameOf(models: readonly (string | null)[]): string {
  return models.find((id) => id !== null) ?? 'the model that the gateway chooses'
}

function unknown(code: UnknownCost['code'], reason: string): UnknownCost {
  return { amount: null, code, reason }
}

/** Longer pieces of nothing but these characters are media as base64, which has another price. */
const base64 = /^[A-Za-z0-9+/=_:;,.-]{1000,}$/

/** Bytes of all text in a request body; media in it do not count. */
function textBytes(value: unknown): number {
  if (typeof value === 'string') return base64.test(value) ? 0 : Buffer.byteLength(value)
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce((sum: number, inner) => sum + textBytes(inner), 0)
}
