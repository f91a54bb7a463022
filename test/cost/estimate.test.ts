import { describe, expect, test } from 'vitest'
import { amountText } from '../../src/cost/amount.ts'
import type { Creation } from '../../src/cost/creation.ts'
import { costBefore, costOf, type Cost, type Used } from '../../src/cost/estimate.ts'
import type { ModelPrice, Prices } from '../../src/cost/prices.ts'

const plain = <Shape extends object>(value: Shape): Shape =>
  Object.assign(Object.create(null) as Shape, value)

const sized = plain({ '1024x1024': plain({ low: 0.011, high: 0.167 }), default: 0.04 })
const prices: Prices = plain<Record<string, ModelPrice>>({
  text: { currency: 'USD', input: 1.25, cached_input: 0.125, output: 10 },
  'text-2026-01-02': { currency: 'USD', input: 3, output: 20 },
  plain: { currency: 'EUR', input: 1, output: 2 },
  painter: { currency: 'USD', input: 5, image_input: 10, output: 40 },
  mixed: { currency: 'USD', input: 5, output: 40, image: sized },
  sized: { currency: 'USD', image: sized },
  quality: { currency: 'USD', image: plain({ low: 0.01, high: 0.2 }) },
  even: { currency: 'USD', image: plain({ low: 0.01, high: 0.01 }) },
  auto: { currency: 'USD', image: plain({ auto: 0.05, high: 0.2 }) },
  fast: { currency: 'USD', image: plain({ '4k-fast': 0.1, 'fast-4k': 0.3 }) },
  film: { currency: 'USD', second: 0.1 },
  hd: { currency: 'USD', second: plain({ '720p': 0.1, '1080p': 0.3 }) },
})

const tokens = (input: number | null, output: number | null, more: object = {}) => ({
  input_tokens: input,
  cached_tokens: null,
  output_tokens: output,
  ...more,
})

const shown = (cost: Cost) =>
  cost.amount === null
    ? cost.reason
    : `${amountText(cost.amount)} ${cost.currency}${cost.without === undefined ? '' : `, without ${cost.without}`}`

const after = (model: string | null, used: Partial<Used>) =>
  shown(costOf(prices, { models: [model], tokens: null, ...used }))
const before = (creation: Partial<Creation>) =>
  shown(costBefore(prices, { model: 'text', count: 1, of: 'text', ...creation }))

describe('what a text has cost', () => {
  test.each([
    // 1000 × 1.25 / 10^6 + 500 × 10 / 10^6
    ['text', tokens(1000, 500), '0.00625 USD'],
    // Cached tokens are part of the input: 600 × 1.25 + 400 × 0.125 + 500 × 10
    ['text', tokens(1000, 500, { cached_tokens: 400 }), '0.0058 USD'],
    // More cached than read cannot be.
    ['text', tokens(1000, 0, { cached_tokens: 4000 }), '0.000125 USD'],
    // Without a price of their own, cached tokens cost what the others do.
    ['plain', tokens(1000, 1000, { cached_tokens: 400 }), '0.003 EUR'],
    // A snapshot has the price of its id, or its own.
    ['plain-2026-10-31', tokens(1000, 1000), '0.003 EUR'],
    ['text-2026-01-02', tokens(1000, 1000), '0.023 USD'],
    ['text', tokens(0, 0), '0 USD'],
  ])('%s, %o: %s', (model, counts, cost) => {
    expect(after(model, { tokens: counts })).toBe(cost)
  })

  test.each([
    ['other', tokens(1, 1), 'no price for other'],
    ['constructor', tokens(1, 1), 'no price for constructor'],
    [null, tokens(1, 1), 'no price for the model that the gateway chooses'],
    ['text', null, 'the gateway reported no token counts'],
    ['text', tokens(null, 5), 'the gateway reported no token counts'],
    ['text', tokens(5, null), 'the gateway reported no token counts'],
    ['film', tokens(5, 5), 'the price of film is not one of tokens'],
  ])('of %s with %o nobody knows it', (model, counts, reason) => {
    expect(after(model, { tokens: counts })).toBe(reason)
  })

  test('the id that the reply names counts where the one that was asked for has no price', () => {
    expect(after(null, { models: [null, 'plain-2026-10-31'], tokens: tokens(1e6, 0) })).toBe('1 EUR')
    expect(after(null, { models: ['best', 'text'], tokens: tokens(1e6, 0) })).toBe('1.25 USD')
    expect(after(null, { models: [null, 'other'], tokens: tokens(1, 1) })).toBe('no price for other')
  })
})

describe('what images have cost', () => {
  const images = (size: string | null, quality: string | null) => ({ images: { count: 3, size, quality } })

  test.each([
    ['sized', '1024x1024', 'high', '0.501 USD'],
    ['sized', '1024x1024', 'medium', '0.12 USD'],
    ['sized', '1024x1024', null, '0.12 USD'],
    ['sized', '1x1', 'high', '0.12 USD'],
    ['sized', null, null, '0.12 USD'],
    ['quality', '1x1', 'low', '0.03 USD'],
    ['quality', null, 'medium', 'there is no price of an image of medium'],
    ['quality', '1x1', null, 'there is no price of an image of 1x1'],
    ['quality', '1x1', 'medium', 'there is no price of an image of 1x1, medium'],
    ['quality', null, null, 'there is no price of an image of no given size or quality'],
    // What nobody asked for has a price where all are the same, or that of `auto`.
    ['even', null, null, '0.03 USD'],
    ['auto', null, null, '0.15 USD'],
    // Not every name with a size in it is one.
    ['fast', null, '4k-fast', '0.3 USD'],
    ['film', null, null, 'the price of film is not one of images'],
  ])('%s, %s, %s: %s', (model, size, quality, cost) => {
    expect(after(model, images(size, quality))).toBe(cost)
  })

  test('tokens come first where both have a price, images where no tokens are reported', () => {
    expect(after('mixed', { ...images(null, null), tokens: tokens(1000, 1000) })).toBe('0.045 USD')
    expect(after('mixed', images(null, null))).toBe('0.12 USD')
    expect(after('painter', images(null, null))).toBe('the gateway reported no token counts')
  })

  test('tokens of pictures in the input may have their own price', () => {
    // 200 × 5 + 800 × 10 + 1000 × 40
    const counts = tokens(1000, 1000, { input_image_tokens: 800 })
    expect(after('painter', { ...images(null, null), tokens: counts })).toBe('0.049 USD')
    // The cached ones are taken from the text first: 400 × 5 + 600 × 10
    const cached = tokens(1000, 0, { cached_tokens: 400, input_image_tokens: 800 })
    expect(after('painter', { tokens: cached })).toBe('0.008 USD')
    // 1000 × 5 + 1000 × 40
    expect(after('mixed', { ...images(null, null), tokens: counts })).toBe('0.045 USD')
  })
})

describe('what videos have cost', () => {
  test.each([
    ['film', 16, null, '1.6 USD'],
    ['film', 5.005, '720p', '0.5005 USD'],
    ['hd', 10, '1080p', '3 USD'],
    ['hd', 10, '4k', 'there is no price of a second of 4k'],
    ['hd', 10, null, 'there is no price of a second of no given size or quality'],
    ['film', null, null, 'how long the video plays is not known'],
    ['text', 10, null, 'the gateway reported no token counts'],
    ['sized', 10, null, 'the price of sized is not one of seconds of video'],
  ])('%s, %s s, %s: %s', (model, seconds, size, cost) => {
    expect(after(model, { video: { seconds, size, quality: null } })).toBe(cost)
  })
})

describe('what a request may cost', () => {
  test.each<[string, Partial<Creation>, string]>([
    // 12 bytes of text are 3 tokens: 3 × 1.25 + 100 × 10
    ['a text with a limit', { body: { input: 'twelve bytes' }, maxOutputTokens: 100 }, '0.00100375 USD'],
    ['a text without', { body: 'x' }, '0.00000125 USD, without how many tokens will be generated'],
    ['media in base64', { body: [{ data: 'A'.repeat(4000) }], maxOutputTokens: 0 }, '0 USD'],
    ['a text without end', { body: `${'A'.repeat(1000)} and`, maxOutputTokens: 0 }, '0.00031375 USD'],
    ['a text that ends so', { body: `see ${'A'.repeat(1000)}`, maxOutputTokens: 0 }, '0.00031375 USD'],
    ['a field of null', { body: { input: 'four', stop: null }, maxOutputTokens: 0 }, '0.00000125 USD'],
    ['long words', { body: '漢 '.repeat(1000), maxOutputTokens: 0 }, '0.00125 USD'],
    [
      'an image',
      { model: 'sized', of: 'image', count: 2, variant: { size: '1024x1024', quality: 'high' } },
      '0.334 USD',
    ],
    // The highest that it may be.
    ['an image of any quality', { model: 'quality', of: 'image', count: 2 }, '0.4 USD'],
    [
      'an image that is billed in tokens',
      { model: 'painter', of: 'image', count: 2 },
      '0 USD, without how many tokens will be generated',
    ],
    ['videos', { model: 'film', of: 'video', count: 2, seconds: 8 }, '1.6 USD'],
    ['videos of any size', { model: 'hd', of: 'video', count: 1, seconds: 10 }, '3 USD'],
    ['a remix', { model: 'film', of: 'video' }, '0 USD, without how long the video will play'],
    ['a model without a price', { model: 'other' }, 'no price for other'],
    ['a price of something else', { model: 'film' }, 'the price of film is not one of tokens'],
    [
      'an image of a price of something else',
      { model: 'film', of: 'image' },
      'the price of film is not one of images',
    ],
    [
      'a quality without a price',
      { model: 'quality', of: 'image', variant: { size: null, quality: 'medium' } },
      'there is no price of an image of medium',
    ],
    [
      'a size without a price',
      { model: 'hd', of: 'video', seconds: 1, variant: { size: '4k', quality: null } },
      'there is no price of a second of 4k',
    ],
    ['seconds by tokens', { model: 'text', of: 'video' }, 'the price of text is not one of seconds of video'],
  ])('%s', (_, creation, cost) => {
    expect(before(creation)).toBe(cost)
  })
})
