import type { JsonObject } from '../json-value.ts'
import { isObject, listOf, numberOf } from '../json-value.ts'
import type { Random } from '../seeded-random.ts'
import { pick } from '../seeded-random.ts'
import { flatten } from './flatten.ts'
import { sampleNumber } from './sample-number.ts'
import { sampleString } from './sample-string.ts'

/** Below this depth only what a schema requires is filled in; far below, a schema that never ends is given up. */
const optionalDepth = 4
const deepest = 24
/** Values in one sample. A hostile schema asks for more than anybody can hold. */
const mostValues = 20_000

interface Situation {
  readonly root: unknown
  readonly random: Random
  readonly depth: number
  /** Name of the property the value is for, so that text can say something. */
  readonly name: string
  readonly budget: { left: number }
}

/**
 * A value that satisfies a JSON Schema or Google's OpenAPI subset (upper-case types, `nullable`), as far as
 * sensible: `not`, `if` and `dependentSchemas` are not followed.
 * @param fallback the type of a schema that does not say one
 */
export function sampleOf(schema: unknown, random: Random, fallback = 'string'): unknown {
  return sample(schema, { root: schema, random, depth: 0, name: '', budget: { left: mostValues } }, fallback)
}

function sample(schema: unknown, situation: Situation, fallback = 'string'): unknown {
  if (!isObject(schema)) return '[sandbox]'
  const { random, depth, root, budget } = situation
  budget.left--
  const flat = flatten(schema, root, depth >= optionalDepth)
  if (flat['const'] !== undefined) return flat['const']
  if (Array.isArray(flat['enum']) && flat['enum'].length > 0) return pick(random, flat['enum'])
  if (depth > deepest || budget.left < 0) return null
  switch (typeOf(flat, fallback)) {
    case 'object':
      return sampleObject(flat, situation)
    case 'array':
      return sampleArray(flat, situation)
    case 'integer':
      return sampleNumber(flat, random, true)
    case 'number':
      return sampleNumber(flat, random, false)
    case 'boolean':
      return random() < 0.5
    case 'null':
      return null
    default:
      return sampleString(flat, random, situation.name)
  }
}

const keywords: Readonly<Record<string, string>> = {
  properties: 'object',
  required: 'object',
  additionalProperties: 'object',
  items: 'array',
  prefixItems: 'array',
  minItems: 'array',
  minimum: 'number',
  maximum: 'number',
  multipleOf: 'number',
}

function typeOf(schema: JsonObject, fallback: string): string {
  const types = (Array.isArray(schema['type']) ? listOf(schema['type']) : [schema['type']])
    .filter((type) => typeof type === 'string')
    .map((type) => type.toLowerCase())
  const named = types.find((type) => type !== 'null') ?? types[0]
  if (named !== undefined && named !== 'type_unspecified') return named
  const keyword = Object.keys(keywords).find((name) => schema[name] !== undefined)
  return keyword === undefined ? fallback : keywords[keyword]!
}

function sampleObject(schema: JsonObject, situation: Situation): JsonObject {
  const properties = isObject(schema['properties']) ? schema['properties'] : {}
  const required = new Set(listOf(schema['required']))
  const most = numberOf(schema['maxProperties']) ?? Infinity
  const names = ordered(Object.keys(properties), listOf(schema['propertyOrdering']))
  let optional = most - required.size
  const chosen = names.filter(
    (name) => required.has(name) || (situation.depth < optionalDepth && optional-- > 0),
  )
  // A required name without a schema of its own takes any value.
  const unnamed = [...required].filter((name) => typeof name === 'string' && !Object.hasOwn(properties, name))
  const all = [...chosen, ...(unnamed as string[])]
  const extra = isObject(schema['additionalProperties']) ? schema['additionalProperties'] : {}
  const least = Math.min(numberOf(schema['minProperties']) ?? 0, situation.budget.left)
  for (let index = 1; all.length < least; index++) all.push(`extra_${index}`)
  return Object.fromEntries(
    all.map((name) => {
      const inner = Object.hasOwn(properties, name) ? properties[name] : extra
      return [name, sample(inner, { ...situation, depth: situation.depth + 1, name })]
    }),
  )
}

function ordered(names: readonly string[], order: readonly unknown[]): readonly string[] {
  const place = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length)
  return names.toSorted((left, right) => place(left) - place(right))
}

function sampleArray(schema: JsonObject, situation: Situation): unknown[] {
  const inner = { ...situation, depth: situation.depth + 1 }
  const first = listOf(schema['prefixItems']).map((item) => sample(item, inner))
  const least = numberOf(schema['minItems']) ?? Number(schema['contains'] !== undefined)
  const most = numberOf(schema['maxItems']) ?? Infinity
  const wanted = schema['items'] === false ? first.length : Math.min(Math.max(least, first.length, 1), most)
  const values = first.slice(0, most)
  const seen = new Set(values.map((value) => JSON.stringify(value)))
  const unique = schema['uniqueItems'] === true
  for (let tries = 0; values.length < wanted && tries < wanted * 50 && situation.budget.left > 0; tries++) {
    const source = values.length === first.length && schema['contains'] !== undefined ? 'contains' : 'items'
    const value = sample(schema[source] ?? {}, inner)
    if (unique && seen.has(JSON.stringify(value))) continue
    seen.add(JSON.stringify(value))
    values.push(value)
  }
  return values
}
