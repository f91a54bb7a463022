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

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

test('prices are read by model, each with its currency', async () => {
  const { prices } = await resolveSettings(configPlace({ user }).context)
  expect(plain(prices.value)).toEqual({
    'gpt-5.5': { currency: 'USD', input: 1.25, cached_input: 0.125, output: 10 },
    'gpt-image-2': { currency: 'USD', image: { '1024x1024': { low: 0.011, high: 0.167 }, default: 0.04 } },
    painter: {
      currency: 'USD',
      input: 5,
      image_input: 10,
      output: 40,
      image: { high: { '1K': 0.1, '2K': 0.2 } },
    },
    film: { currency: 'USD', second: { '720p': 0.1, auto: 0.2 } },
  })
})

test('those of a profile come first, and keep their own currency', async () => {
  const { prices } = await resolveSettings(configPlace({ user }).context, { profile: 'work' })
  expect(prices.value['gpt-5.5']).toEqual({ currency: 'EUR', input: 1, output: 2 })
  expect(prices.value['film']?.currency).toBe('USD')
  expect(prices.value['constructor']).toBeUndefined()
})

const at = (line: number, rest: string) => `HOME/.config/modelgate/config.yaml:${line}: prices.${rest}`

test.each([
  ['a: 5', [at(2, 'a must be a mapping of prices, such as { input: 1.25, output: 10 }, not 5.')]],
  ['a: {}', [at(2, 'a must have at least one of input, cached_input, image_input, output, image, second.')]],
  [
    'a: { in: 1, output: 2 }',
    [at(2, 'a.in is not a price; did you mean input?'), at(2, 'a must have input, too.')],
  ],
  ['a: { input: 1 }', [at(2, 'a must have output, too; 0 if it costs nothing.')]],
  ['a: { input: -1, output: 0 }', [at(2, 'a.input must be a number from 0, not -1.')]],
  [
    'a: { input: .inf, output: .nan }',
    [
      at(2, 'a.input must be a number from 0, not Infinity.'),
      at(2, 'a.output must be a number from 0, not NaN.'),
    ],
  ],
  [
    'a: { second: { high: 1 } }',
    [at(2, 'a.second must be a number, or have prices by size, not a mapping.')],
  ],
  ['a: { image: { hgih: 1 } }', [at(2, 'a.image.hgih is not a usual quality; did you mean high?')]],
  ['a: { image: { 1x1: 1, high: 2 } }', [at(2, 'a.image.high is not a size, as the others are.')]],
  ['a: { image: [1] }', [at(2, 'a.image must be a number from 0, not a list.')]],
  ['currency: US$', [at(2, 'currency must be a short word of letters such as USD, not "US$".')]],
])('%s is refused by its place', async (entry, expected) => {
  const place = configPlace({ user: `prices:\n  ${entry}\n` })
  const message = place.scrub(await failureOf(() => resolveSettings(place.context)))
  expect(message.split('\n').filter((line) => line.includes('prices'))).toEqual(expected)
})
