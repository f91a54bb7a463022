import type { JsonObject } from '../json.ts'
import { tokenPrices } from './model-prices.ts'

const price = (description: string): JsonObject => ({ type: 'number', minimum: 0, description })

/** A price, or prices by size and quality, in either order. */
const bySize = { anyOf: [{ type: 'number', minimum: 0 }, mapping({ type: 'number', minimum: 0 })] }
const bySizeAndQuality = { anyOf: [{ type: 'number', minimum: 0 }, mapping(bySize)] }

function mapping(inner: JsonObject): JsonObject {
  return { type: 'object', additionalProperties: inner }
}

const required = (name: string) => ({ required: [name] })

const model: JsonObject = {
  type: 'object',
  properties: {
    input: price('a million tokens of input'),
    cached_input: price('a million tokens of input that was cached; those of input without it'),
    image_input: price('a million tokens of images; those of input without it'),
    output: price('a million tokens of output'),
    image: { ...bySizeAndQuality, description: 'an image; by size and quality where it depends on them' },
    second: { ...bySize, description: 'a second of video; by size where it depends on it' },
  },
  additionalProperties: false,
  // Prices of tokens come together; without them there is another.
  anyOf: [
    { required: ['input', 'output'] },
    {
      anyOf: [required('image'), required('second')],
      not: { anyOf: Object.keys(tokenPrices).map(required) },
    },
  ],
}

/** `prices:` as JSON Schema. What the words for sizes and qualities may be, it does not say. */
export const priceSchema: JsonObject = {
  type: 'object',
  properties: {
    currency: { type: 'string', pattern: '^[A-Za-z]{2,12}$', description: 'of all prices', default: 'USD' },
  },
  additionalProperties: model,
}
