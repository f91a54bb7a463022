import { families } from '../contract/families.ts'
import type { Endpoint, Field } from '../contract/field.ts'
import type { JsonObject } from '../json.ts'
import { familyEndpoints, familyMediaTypes, sizeKeys } from './model-families.ts'

const words = { type: 'array', minItems: 1, items: { type: 'string', minLength: 1 } }
const whole = (minimum: number) => ({ type: 'integer', minimum })
const number = (minimum: number) => ({ type: 'number', minimum })

const mapping = (properties: JsonObject, description?: string): JsonObject => ({
  type: 'object',
  ...(description === undefined ? {} : { description }),
  properties,
  additionalProperties: false,
})

const sizeRule: JsonObject = {
  ...mapping({
    words: { type: 'array', items: { type: 'string', minLength: 1 }, description: 'sizes that are words' },
    multiple_of: { ...whole(1), description: 'both edges are multiples of it' },
    max_ratio: { ...number(1), description: 'largest ratio of the longer edge to the shorter one' },
    max_edge: { ...whole(1), description: 'longest edge' },
    min_pixels: { ...whole(1), description: 'fewest pixels in all' },
    max_pixels: { ...whole(1), description: 'most pixels in all' },
  }),
  required: sizeKeys,
}

function limitOf(name: string, { type }: Field): JsonObject {
  const not = { const: false, description: 'the field is not taken' }
  if (name === 'size') return { anyOf: [not, words, sizeRule] }
  if (type === 'string') return { anyOf: [not, words, mapping({ max_length: whole(0) })] }
  const isNumber = type === 'integer' || type === 'number'
  return isNumber ? { anyOf: [not, mapping({ min: number(0), max: number(0) })] } : not
}

function limitsOf({ name, fields }: Endpoint): JsonObject {
  const known = Object.entries(fields).filter(([field]) => field !== 'model')
  return mapping(
    Object.fromEntries(known.map(([field, rule]) => [field, limitOf(field, rule)])),
    `limits of modelgate ${name}, by field of the request`,
  )
}

const endpoints = Object.entries(familyEndpoints)

const own: JsonObject = {
  ...mapping({
    about: { type: 'string', description: 'what the family is' },
    ...Object.fromEntries(endpoints.map(([key, endpoint]) => [key, limitsOf(endpoint)])),
    sources: mapping(
      {
        max_count: { ...whole(0), description: 'most files' },
        below_mb: { ...number(0), description: 'each file must be smaller, in millions of bytes' },
        media_types: { type: 'array', minItems: 1, items: { enum: familyMediaTypes } },
        square: { type: 'boolean' },
      },
      'what image edit may start from',
    ),
  }),
  anyOf: endpoints.map(([key]) => ({ required: [key] })),
}

/** `families:` as JSON Schema. A name can be that of any family of the same file, so every text is accepted. */
export const familySchema: JsonObject = {
  type: 'object',
  additionalProperties: {
    anyOf: [{ enum: ['none', ...families.map(({ id }) => id)] }, { type: 'string' }, own],
  },
}
