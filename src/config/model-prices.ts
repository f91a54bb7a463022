import * as v from 'valibot'
import { imageCreateEndpoint } from '../contract/images.ts'
import { sizeWord, type ModelPrice, type Prices, type SizedPrice } from '../cost/prices.ts'
import { isObject, type JsonObject } from '../json.ts'
import { nearestName } from '../nearest-name.ts'
import { byName, check, checkKeys, mapping, numberFrom, withoutPrototype, type Report } from './mapping.ts'

const price = numberFrom(0)
const tokens = (description: string) => v.optional(v.pipe(price, v.description(description)))

const orByName = (value: v.GenericSchema<unknown, SizedPrice>): v.GenericSchema<unknown, SizedPrice> =>
  v.union([price, byName(value, 'must be a number from 0')], 'must be a number from 0')
/** By size and quality, in either order. */
const ofImage = v.pipe(
  orByName(orByName(price)),
  check((value, report) => checkWords(value, ['size', 'quality'], report)),
)
const ofSecond = v.pipe(
  orByName(price),
  check((value, report) => checkWords(value, ['size'], report)),
)

const tokenPrices = {
  input: tokens('a million tokens of input'),
  cached_input: tokens('a million tokens of input that was cached; those of input without it'),
  image_input: tokens('a million tokens of images; those of input without it'),
  output: tokens('a million tokens of output'),
}
const entries = {
  ...tokenPrices,
  image: v.optional(v.pipe(ofImage, v.description('an image; by size and quality where it depends on them'))),
  second: v.optional(v.pipe(ofSecond, v.description('a second of video; by size where it depends on it'))),
}
export const priceNames = Object.keys(entries)

const has = (name: string) => ({ required: [name] })

const model = v.pipe(
  mapping(entries, 'must be a mapping of prices, such as { input: 1.25, output: 10 }', 'is not a price'),
  checkKeys((keys, report) => {
    const isTokens = Object.keys(tokenPrices).some((name) => keys.has(name))
    if (isTokens && !keys.has('input')) report([], 'must have input, too')
    if (isTokens && !keys.has('output')) report([], 'must have output, too; 0 if it costs nothing')
    if (!isTokens && !keys.has('image') && !keys.has('second')) {
      report([], `must have at least one of ${priceNames.join(', ')}`)
    }
  }),
  // The same as JSON Schema.
  v.metadata({
    anyOf: [
      { required: ['input', 'output'] },
      { anyOf: [has('image'), has('second')], not: { anyOf: Object.keys(tokenPrices).map(has) } },
    ],
  }),
)

const currency = v.config(v.pipe(v.string(), v.regex(/^[A-Za-z]{2,12}$/), v.description('of all prices')), {
  message: 'must be a short word of letters such as USD',
})

/**
 * `prices:` of a configuration: for each model id what a million tokens, an image or a second of video costs, and the
 * currency of them all. Nothing is known without it: a price is the user's own.
 */
export const modelPrices: v.GenericSchema<unknown, Prices> = v.pipe(
  v.custom<JsonObject>(isObject, 'must map model ids to prices'),
  v.objectWithRest({ currency: v.optional(currency, 'USD') }, model),
  v.transform(({ currency: common, ...models }) =>
    withoutPrototype(
      Object.fromEntries(
        Object.entries(models).map(([id, own]) => [id, { currency: common, ...own } as ModelPrice]),
      ),
    ),
  ),
)

/** Of a size or a quality that no other price is for. */
const anyWords = ['default', 'auto']
/** The qualities that any family has. */
const usualWords = (imageCreateEndpoint.fields['quality']?.known ?? []).map(String)

/** @param kinds what the price may still depend on; each only once on the way to a number */
function checkWords(value: unknown, kinds: readonly ('size' | 'quality')[], report: Report): void {
  // What has a wrong shape is reported already.
  if (!isObject(value) || kinds.length === 0) return
  const names = Object.keys(value).filter((name) => !anyWords.includes(name))
  const named = names.some((name) => sizeWord.test(name)) ? 'size' : 'quality'
  const kind = names.length === 0 ? kinds[0]! : named
  if (!kinds.includes(kind)) {
    return report([], `must be a number, or have prices by ${kinds.join(' or ')}`, value)
  }
  const left = kinds.filter((other) => other !== kind)
  for (const [name, inner] of Object.entries(value)) {
    const problem = wordProblem(name, kind)
    if (problem !== undefined) report([name], problem)
    checkWords(inner, left, (keys, ...rest) => report([name, ...keys], ...rest))
  }
}

function wordProblem(name: string, kind: 'size' | 'quality'): string | undefined {
  if (anyWords.includes(name) || sizeWord.test(name)) return undefined
  if (kind === 'size') return 'is not a size, as the others are'
  const near = usualWords.includes(name) ? undefined : nearestName(name, [...usualWords, ...anyWords], 1)
  return near === undefined ? undefined : `is not a usual quality; did you mean ${near}?`
}
