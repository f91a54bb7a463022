import type { Budget } from '../budget.ts'
import type { JsonObject } from '../json-value.ts'
import { isObject, listOf, numberOf } from '../json-value.ts'
import type { Random } from '../seeded-random.ts'
import { pick } from '../seeded-random.ts'
import { flatten } from './flatten.ts'
import { sampleNumber } from './sample-number.ts'
import { createStringSampler } from './sample-string.ts'
import type { StringSampler } from './sample-string.ts'

/** Below this depth only what a schema requires is filled in; far below, a schema that never ends is given up. */
const optionalDepth = 4
const deepest = 24
/** What a value of a sample costs beside its characters, in characters. */
const costOfValue = 50

interface Situation {
  readonly root: unknown
  readonly random: Random
  readonly depth: number
  /** Name of the property the value is for, so that text can say something. */
  readonly name: string
  readonly budget: Budget
  readonly sampleString: StringSampler
}

/**
 * A value that satisfies a JSON Schema or Google's OpenAPI subset (upper-case types, `nullable`), as far as
 * sensible: `not`, `if` and `dependentSchemas` are not followed.
 * @param budget of the request that the sample is for
 * @param fallback the type of a schema that does not say one
 * @throws RequestProblem when the budget is spent: a schema of a line can ask for more than anybody can hold
 */
export function sampleOf(schema: unknown, random: Random, budget: Budget, fallback = 'string'): unknown {
  const sampleString = createStringSampler(random, budget)
  return sample(schema, { root: schema, random, depth: 0, name: '', budget, sampleString }, fallback)
}

function sample(schema: unknown, situation: Situation, fallback = 'string'): unknown {
  const { random, depth, root, budget } = situation
  budget.spend(costOfValue)
  if (!isObject(schema)) return '[sandbox]'
  const flat = flatten(schema, { root, terminal: depth >= optionalDepth, budget })
  if (flat['const'] !== undefined) return given(flat['const'], budget)
  if (Array.isArray(flat['enum']) && flat['enum'].length > 0) return given(pick(random, flat['enum']), budget)
  if (depth > deepest) return null
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
      return situation.sampleString(flat, situation.name)
  }
}

/** A value that stands in the schema: it is written as often as it is taken. */
function given(value: unknown, budget: Budget): unknown {
  budget.spendOn(value)
  return value
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
  const { budget } = situation
  const properties = isObject(schema['properties']) ? schema['properties'] : {}
  const order = listOf(schema['propertyOrdering'])
  const declared = Object.keys(properties)
  budget.spend(declared.length + order.length + listOf(schema['required']).length)
  const required = new Set(listOf(schema['required']))
  const most = numberOf(schema['maxProperties']) ?? Infinity
  const names = ordered(declared, order)
  let optional = most - required.size
  const chosen = names.filter(
    (name) => required.has(name) || (situation.depth < optionalDepth && optional-- > 0),
  )
  // A required name without a schema of its own takes any value.
  const unnamed = [...required].filter((name) => typeof name === 'string' && !Object.hasOwn(properties, name))
  const all = [...chosen, ...(unnamed as string[])]
  const extra = isObject(schema['additionalProperties']) ? schema['additionalProperties'] : {}
  const least = numberOf(schema['minProperties']) ?? 0
  for (let index = 1; all.length < least; index++) {
    budget.spend(costOfValue)
    all.push(`extra_${index}`)
  }
  return Object.fromEntries(
    all.map((name) => {
      budget.spend(name.length)
      const inner = Object.hasOwn(properties, name) ? properties[name] : extra
      return [name, sample(inner, { ...situation, depth: situation.depth + 1, name })]
    }),
  )
}

function ordered(names: readonly string[], order: readonly unknown[]): readonly string[] {
  const positions = new Map(order.map((name, index) => [name, index]))
  const positionOf = (name: string) => positions.get(name) ?? order.length
  return names.toSorted((left, right) => positionOf(left) - positionOf(right))
}

function sampleArray(schema: JsonObject, situation: Situation): unknown[] {
  const inner = { ...situation, depth: situation.depth + 1 }
  const first = listOf(schema['prefixItems']).map((item) => sample(item, inner))
  const least = numberOf(schema['minItems']) ?? Number(schema['contains'] !== undefined)
  const most = numberOf(schema['maxItems']) ?? Infinity
  const wanted = schema['items'] === false ? first.length : Math.min(Math.max(least, first.length, 1), most)
  const values = first.slice(0, most)
  const isUnique = schema['uniqueItems'] === true
  const seen = new Set(isUnique ? values.map((value) => JSON.stringify(value)) : [])
  for (let tries = 0; values.length < wanted && tries < wanted * 50; tries++) {
    const source = values.length === first.length && schema['contains'] !== undefined ? 'contains' : 'items'
    const value = sample(schema[source] ?? {}, inner)
    const text = isUnique ? JSON.stringify(value) : ''
    if (isUnique && seen.has(text)) continue
    seen.add(text)
    values.push(value)
  }
  return values
}
