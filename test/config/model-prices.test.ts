import { expect, test } from 'vitest'
import { resolveSettings } from '../../src/config/settings.ts'
import { configPlace, failureOf } from '../support/config-place.ts'

const user = `prices:
  gpt-5.5: { input: 1.25, cached_input: 0.125, output: 10 }
  gpt-image-2:
    image: { 1024x1024: { low: 0.011, high: 0.167 }, default: 0.04 }
  painter: { input: 5, image_input: 10, output: 40, image: { high: { 1K: 0.1, 2K: 0.2 } } }
  film: { second: { 720p: 0.1, auto: 0.2 } }
profiles:
  work:
    prices: { currency: EUR, gpt-5.5: { input: 1, output: 2 } }
`

const pricesOf = async (profile: string) => {
  const { prices } = await resolveSettings(configPlace({ user }).context, { profile })
  return JSON.parse(JSON.stringify(prices.value)) as unknown
}
const others = {
  'gpt-image-2': { currency: 'USD', image: { '1024x1024': { low: 0.011, high: 0.167 }, default: 0.04 } },
  painter: {
    currency: 'USD',
    input: 5,
    image_input: 10,
    output: 40,
    image: { high: { '1K': 0.1, '2K': 0.2 } },
  },
  film: { currency: 'USD', second: { '720p': 0.1, auto: 0.2 } },
}

test('prices are read by model, each with its currency; those of a profile come first', async () => {
  const usual = { currency: 'USD', input: 1.25, cached_input: 0.125, output: 10 }
  expect(await pricesOf('default')).toEqual({ 'gpt-5.5': usual, ...others })
  expect(await pricesOf('work')).toEqual({ 'gpt-5.5': { currency: 'EUR', input: 1, output: 2 }, ...others })
})

test.each([
  ['a: 5', 'a must be a mapping of prices, such as { input: 1.25, output: 10 }, not 5.'],
  ['a: {}', 'a must have at least one of input, cached_input, image_input, output, image, second.'],
  ['a: { in: 1, output: 2 }', 'a.in is not a price; did you mean input?', 'a must have input, too.'],
  ['a: { input: 1 }', 'a must have output, too; 0 if it costs nothing.'],
  ['a: { input: -1, output: 0 }', 'a.input must be a number from 0, not -1.'],
  [
    'a: { input: .inf, output: .nan }',
    'a.input must be a number from 0, not Infinity.',
    'a.output must be a number from 0, not NaN.',
  ],
  ['a: { second: { high: 1 } }', 'a.second must be a number, or have prices by size, not a mapping.'],
  ['a: { image: { hgih: 1 } }', 'a.image.hgih is not a usual quality; did you mean high?'],
  ['a: { image: { 1x1: 1, high: 2 } }', 'a.image.high is not a size, as the others are.'],
  ['a: { image: [1] }', 'a.image must be a number from 0, not a list.'],
  ['currency: US$', 'currency must be a short word of letters such as USD, not "US$".'],
])('%s is refused by its place', async (entry, ...expected) => {
  const place = configPlace({ user: `prices:\n  ${entry}\n` })
  const message = await failureOf(() => resolveSettings(place.context))
  const lines = [...message.matchAll(/config\.yaml:2: prices\.(.*)/g)].map(([, line]) => line)
  expect(lines).toEqual(expected)
})
