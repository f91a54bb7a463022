import { imageCreateEndpoint } from '../contract/images.ts'
import { sizeWord, type ModelPrice, type Prices, type SizedPrice } from '../cost/prices.ts'
import { isObject, type JsonObject } from '../json.ts'
import { nearestName } from '../nearest-name.ts'
import { mappingSchema, unknownKey, type Report } from './mapping-schema.ts'

/**
 * `prices:` of a configuration: for each model id what a million tokens, an image or a second of video costs, and the
 * currency of them all. Nothing is known without it: a price is the user's own.
 */
export const modelPrices = mappingSchema('must map model ids to prices', parsePrices)

function parsePrices({ currency = 'USD', ...models }: JsonObject, report: Report): Prices {
  const isCurrency = typeof currency === 'string' && /^[A-Za-z]{2,12}$/.test(currency)
  if (!isCurrency) report(['currency'], 'must be a short word of letters such as USD', currency)
  // No prototype, so that a model called `constructor` does not get a price by accident.
  const found = Object.create(null) as Record<string, ModelPrice>
  for (const [id, given] of Object.entries(models)) {
    const inside: Report = (keys, ...rest) => report([id, ...keys], ...rest)
    if (isObject(given)) found[id] = { currency: String(currency), ...parseModel(given, inside) }
    else inside([], 'must be a mapping of prices, such as { input: 1.25, output: 10 }', given)
  }
  return found
}

/** Prices of a million tokens, as files and the program name them. */
export const tokenPrices = {
  input: 'input',
  cached_input: 'cachedInput',
  image_input: 'imageInput',
  output: 'output',
} as const satisfies Record<string, keyof ModelPrice>

export const priceNames = [...Object.keys(tokenPrices), 'image', 'second']

function parseModel(given: JsonObject, report: Report): Omit<ModelPrice, 'currency'> {
  const found: { -readonly [Name in keyof ModelPrice]?: ModelPrice[Name] } = {}
  for (const [key, value] of Object.entries(given)) {
    const inside: Report = (keys, ...rest) => report([key, ...keys], ...rest)
    if (Object.hasOwn(tokenPrices, key)) {
      const price = parseNumber(value, inside)
      if (price !== undefined) found[tokenPrices[key as keyof typeof tokenPrices]] = price
    } else if (key === 'image' || key === 'second') {
      const price = parseSized(value, key === 'image' ? ['size', 'quality'] : ['size'], inside)
      if (price !== undefined) found[key] = price
    } else inside([], unknownKey('is not a price', key, priceNames), value)
  }
  const has = (name: string) => Object.hasOwn(given, name)
  const isTokens = Object.keys(tokenPrices).some(has)
  if (isTokens && !has('input')) report([], 'must have input, too')
  if (isTokens && !has('output')) report([], 'must have output, too; 0 if it costs nothing')
  if (!isTokens && !has('image') && !has('second')) {
    report([], `must have at least one of ${priceNames.join(', ')}`)
  }
  return found
}

function parseNumber(value: unknown, report: Report): number | undefined {
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value
  report([], 'must be a number from 0', value)
  return undefined
}

/** Of a size or a quality that no other price is for. */
const anyWords = ['default', 'auto']
/** The qualities that any family has. */
const usualWords = (imageCreateEndpoint.fields['quality']?.known ?? []).map(String)

/** @param kinds what the price may still depend on; each only once on the way to a number */
function parseSized(
  value: unknown,
  kinds: readonly ('size' | 'quality')[],
  report: Report,
): SizedPrice | undefined {
  if (!isObject(value) || kinds.length === 0) return parseNumber(value, report)
  const names = Object.keys(value).filter((name) => !anyWords.includes(name))
  const named = names.some((name) => sizeWord.test(name)) ? 'size' : 'quality'
  const kind = names.length === 0 ? kinds[0]! : named
  if (!kinds.includes(kind)) {
    report([], `must be a number, or have prices by ${kinds.join(' or ')}`, value)
    return undefined
  }
  const found = Object.create(null) as Record<string, SizedPrice>
  for (const [name, inner] of Object.entries(value)) {
    const inside: Report = (keys, ...rest) => report([name, ...keys], ...rest)
    const problem = wordProblem(name, kind)
    if (problem !== undefined) inside([], problem)
    const left = kinds.filter((other) => other !== kind)
    const price = parseSized(inner, left, inside)
    if (price !== undefined) found[name] = price
  }
  return found
}

function wordProblem(name: string, kind: 'size' | 'quality'): string | undefined {
  if (anyWords.includes(name) || sizeWord.test(name)) return undefined
  if (kind === 'size') return 'is not a size, as the others are'
  const near = usualWords.includes(name) ? undefined : nearestName(name, [...usualWords, ...anyWords], 1)
  return near === undefined ? undefined : `is not a usual quality; did you mean ${near}?`
}
