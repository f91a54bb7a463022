import { createBudget, type Budget } from './budget.ts'
import { type JsonObject, isObject, listOf, numberOf } from '../json-value.ts'
import { type Random, pick } from '../seeded-random.ts'
import { createStringSampler, type StringSampler } from './sample-string.ts'

/** Below this depth only required properties are generated; far below, an infinite schema is rejected. */
const optionalDepth = 4
const deepest = 24
/** The cost of a value in addition to its characters. */
const costOfValue = 50

interface Situation {
  readonly root: unknown
  readonly random: Random
  readonly depth: number
  /** The name of the property, used in text. */
  readonly name: string
  readonly budget: Budget
  readonly sampleString: StringSampler
}

/**
 * A value that satisfies a JSON Schema or Google's OpenAPI subset (upper-case types, `nullable`). Ignores `not`, `if`
 * and `dependentSchemas`.
 * @param fallback the type of a schema without one
 * @throws RequestProblem if the budget is spent: a short schema can require an enormous value
 */
export function sampleOf(
  schema: unknown,
  random: Random,
  fallback = 'string',
  budget = createBudget(),
): unknown {
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

/** A literal value of the schema: it is written as often as it is used. */
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
  const max = numberOf(schema['maxProperties']) ?? Infinity
  const names = ordered(declared, order)
  let optional = max - required.size
  const chosen = names.filter(
    (name) => required.has(name) || (situation.depth < optionalDepth && optional-- > 0),
  )
  // A required property without a schema may have any value.
  const unnamed = [...required].filter((name) => typeof name === 'string' && !Object.hasOwn(properties, name))
  const all = [...chosen, ...(unnamed as string[])]
  const extra = isObject(schema['additionalProperties']) ? schema['additionalProperties'] : {}
  const min = numberOf(schema['minProperties']) ?? 0
  for (let index = 1; all.length < min; index++) {
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
  const min = numberOf(schema['minItems']) ?? Number(schema['contains'] !== undefined)
  const max = numberOf(schema['maxItems']) ?? Infinity
  const wanted = schema['items'] === false ? first.length : Math.min(Math.max(min, first.length, 1), max)
  const values = first.slice(0, max)
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

/** A number within a schema's bounds that is a multiple of its step. */
function sampleNumber(schema: JsonObject, random: Random, whole: boolean): number {
  const step = numberOf(schema['multipleOf']) ?? (whole ? 1 : 0.01)
  const lower = boundOf(schema, 'minimum', 'exclusiveMinimum')
  const upper = boundOf(schema, 'maximum', 'exclusiveMaximum')
  const min = lower?.value ?? Math.min(1, (upper?.value ?? Infinity) - 100 * step)
  const max = upper?.value ?? (lower === undefined ? 100 : min + 100 * step)
  let first = Math.ceil(rounded(min / step))
  let last = Math.floor(rounded(max / step))
  if (lower?.isOpen && rounded(first * step) <= min) first++
  if (upper?.isOpen && rounded(last * step) >= max) last--
  // If there is no multiple between the bounds, use a fraction.
  if (first > last) return (min + max) / 2
  // Clients state the widest bounds that a number type has: an age is not -9007199254740991.
  if (first < 1 && last > 100) first = 1
  return rounded((first + Math.floor(random() * (Math.min(last - first, 100) + 1))) * step)
}

interface Bound {
  readonly value: number
  /** Whether the bound itself is excluded. */
  readonly isOpen: boolean
}

/** An exclusive bound is a number of its own, or `true` beside the bound (draft 4 and OpenAPI 3.0). */
function boundOf(schema: JsonObject, inclusive: string, exclusive: string): Bound | undefined {
  const [bound, open] = [numberOf(schema[inclusive]), numberOf(schema[exclusive])]
  if (open !== undefined) return { value: open, isOpen: true }
  return bound === undefined ? undefined : { value: bound, isOpen: schema[exclusive] === true }
}

/** Removes binary rounding errors: 0.30000000000000004 is 0.3. */
function rounded(value: number): number {
  return Number(value.toPrecision(12))
}

/** Maximum depth of references to references; ends cycles. */
const maxHops = 32

/** The cost of each part of a schema. */
const costOfPart = 4

/** The context for flattening a schema. */
interface Flattening {
  /** The document that references point into. */
  readonly root: unknown
  /** Prefer the alternative with the least nesting, so that a recursive schema terminates. */
  readonly terminal: boolean
  /** Charged for every part: a few references can expand to billions. */
  readonly budget: Budget
}

/**
 * A schema with its `$ref`, `allOf`, `anyOf` and `oneOf` resolved into one object.
 * @throws RequestProblem when the budget is spent
 */
function flatten(schema: JsonObject, how: Flattening, hops = 0): JsonObject {
  const { root, terminal, budget } = how
  if (hops > maxHops) return {}
  const { $ref: reference, allOf, anyOf, oneOf, ...own } = schema
  budget.spend(costOfPart + Object.keys(own).length + listOf(allOf).length)
  const parts: unknown[] = [own]
  if (typeof reference === 'string') {
    budget.spend(reference.length)
    parts.push(resolve(reference, root))
  }
  parts.push(...listOf(allOf))
  for (const alternatives of [anyOf, oneOf]) {
    if (!Array.isArray(alternatives)) continue
    budget.spend(alternatives.length)
    parts.push(choose(alternatives, terminal))
  }
  const whole = parts.filter(isObject)
  if (whole.length <= 1) return own
  const [first, ...rest] = whole.map((part) => (part === own ? own : flatten(part, how, hops + 1)))
  return rest.reduce<JsonObject>((left, right) => merge(left, right, budget), first!)
}

/** `#`, `#/$defs/name` and other JSON pointers into the same document. */
function resolve(reference: string, root: unknown): unknown {
  const segments = reference.replace(/^#\/?/, '').split('/').filter(Boolean)
  return segments.reduce<unknown>((at, segment) => {
    const name = decoded(segment).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined
    return (at as Record<string, unknown>)[name]
  }, root)
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

function choose(alternatives: readonly unknown[], terminal: boolean): unknown {
  const real = alternatives.find((entry) => isObject(entry) && entry['type'] !== 'null')
  const flat = terminal ? alternatives.find((entry) => isObject(entry) && !nests(entry)) : undefined
  return flat ?? real ?? alternatives[0]
}

function nests(schema: JsonObject): boolean {
  return ['$ref', 'properties', 'items', 'anyOf', 'oneOf'].some((name) => Object.hasOwn(schema, name))
}

const lowerBounds = new Set(['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'])
const upperBounds = new Set(['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'])

/** Merges two schemas: joins properties and requirements, keeps the tighter of two bounds. */
function merge(left: JsonObject, right: JsonObject, budget: Budget): JsonObject {
  const names = Object.keys({ ...left, ...right })
  budget.spend(names.length)
  return Object.fromEntries(
    names.map((name) => {
      const [one, other] = [left[name], right[name]]
      if (one === undefined) return [name, other]
      return [name, other === undefined ? one : mergeKeyword(name, one, other, budget)]
    }),
  )
}

function mergeKeyword(name: string, left: unknown, right: unknown, budget: Budget): unknown {
  if (name === 'required' || name === 'enum') {
    const [one, other] = [listOf(left), listOf(right)]
    budget.spend(one.length + other.length)
    if (name === 'required') return [...new Set([...one, ...other])]
    const allowed = new Set(other)
    return one.filter((value) => allowed.has(value))
  }
  if (name === 'properties' && isObject(left) && isObject(right)) {
    const names = Object.keys(left)
    budget.spend(names.length + Object.keys(right).length)
    const shared = names.filter((property) => Object.hasOwn(right, property))
    const both = shared.map((property) => [property, { allOf: [left[property], right[property]] }] as const)
    return { ...left, ...right, ...Object.fromEntries(both) }
  }
  const [one, other] = [numberOf(left), numberOf(right)]
  if (one === undefined || other === undefined) return right
  if (lowerBounds.has(name)) return Math.max(one, other)
  return upperBounds.has(name) ? Math.min(one, other) : right
}
