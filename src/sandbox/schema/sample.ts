import { createContext, runInContext } from 'node:vm'
import { isDeeperThan } from '../../json.ts'
import { limitExceeded, RequestProblem } from '../http/request-problem.ts'
import { isObject, type JsonObject, listOf, numberOf, textOf } from '../json-value.ts'
import { pick, type Random } from '../seeded-random.ts'

/** Largest value, in characters. */
const maxCharacters = 2_000_000
/** What a schema may require at least, and the longest pattern: a short schema can ask for an enormous value. */
const limits = { minLength: 1_000_000, minItems: 20_000, minProperties: 20_000, pattern: 2_000 }
/** A longer schema would take seconds to compile: its values are not checked. */
const maxCheckedCharacters = 100_000
/** Deepest nesting of a schema, and of a value that it requires. */
const maxDepth = 100
/** Time for generating and checking a value, in milliseconds. Other requests wait meanwhile. */
const maxMs = 2_000

/** What each attempt asks for: first a value that looks real, at last the least that the schema requires. */
const attempts = [
  { isPlausible: true, alwaysFakeOptionals: true, maxDefaultItems: 1 },
  { isPlausible: true, alwaysFakeOptionals: true, maxDefaultItems: 0 },
  { isPlausible: false, alwaysFakeOptionals: true, maxDefaultItems: 1 },
  { isPlausible: true, optionalsProbability: 0, maxDefaultItems: 0, maxDepth },
  { isPlausible: false, optionalsProbability: 0, maxDefaultItems: 0, maxDepth },
]

const words = ['amber', 'birch', 'cedar', 'dune', 'ember', 'fjord', 'grove', 'harbor', 'island', 'juniper']

/** Names and addresses that are reserved for examples: a tool may call what it is given. */
const formats = {
  ...formatted(['email', 'idn-email'], (word) => `${word}@example.com`),
  ...formatted(['hostname', 'idn-hostname'], (word) => `${word}.example.com`),
  ...formatted(['uri', 'url', 'iri'], (word) => `https://example.com/${word}`),
  ...formatted(['byte'], (word) => Buffer.from(word).toString('base64')),
  ...formatted(['ipv4'], (word) => `192.0.2.${words.indexOf(word) + 1}`),
  ...formatted(['ipv6'], (word) => `2001:db8::${words.indexOf(word) + 1}`),
}

function formatted(names: readonly string[], text: (word: string) => string) {
  const write = (random: { next(): number }) => text(pick(() => random.next(), words))
  return Object.fromEntries(names.map((name) => [name, write]))
}

/**
 * A value that satisfies a JSON Schema or Google's OpenAPI subset (upper-case types, `nullable`): of five attempts the
 * first that is valid, or else the first.
 * @param fallback the type of a schema without one
 * @throws RequestProblem 400 when the schema asks for more than the sandbox generates
 */
export async function sampleOf(schema: unknown, random: Random, fallback = 'string'): Promise<unknown> {
  if (!isObject(schema)) return '[sandbox]'
  if (isDeeperThan(schema, maxDepth)) throw tooMuch(`it is nested deeper than ${maxDepth} levels`)
  const [{ generateSync }, { Ajv2020 }] = await Promise.all([
    import('json-schema-faker'),
    import('ajv/dist/2020.js'),
  ])
  const standard = changed(schema, standardSchema)
  const typed = typeNames.some((name) => name in standard) ? standard : { ...standard, type: fallback }
  const plausible = changed(typed, (inner, name) => plausibleSchema(inner, name, random))
  const ajv = new Ajv2020({
    strict: false,
    validateFormats: false,
    validateSchema: false,
    logger: false,
    multipleOfPrecision: 9,
  })
  const generate = () => {
    const isLarge = JSON.stringify(standard).length > maxCheckedCharacters
    const isValid = isLarge ? undefined : attempt(() => ajv.compile(standard))
    let first: unknown
    for (const { isPlausible, ...options } of attempts) {
      const seed = Math.floor(random() * 2 ** 31)
      const source = isPlausible ? plausible : typed
      const value = attempt(() =>
        generateSync(source, { ...options, formats, seed, outputTransform: rounded }),
      )
      if (value === undefined) continue
      assertSize(value)
      if (isValid === undefined || attempt(() => isValid(value)) === true) return value
      first ??= value
    }
    return first ?? (fallback === 'object' ? {} : '[sandbox]')
  }
  try {
    // The time limit interrupts all code that the script calls, also the search for a pattern.
    return runInContext('generate()', createContext({ generate }), { timeout: maxMs })
  } catch (error) {
    throw error instanceof RequestProblem ? error : tooMuch(`it takes more than ${maxMs} ms`)
  }
}

/** The result of a step; undefined where the schema makes it fail. */
function attempt<Value>(step: () => Value): Value | undefined {
  try {
    return step()
  } catch {
    return undefined
  }
}

function tooMuch(reason: string): RequestProblem {
  return limitExceeded(`The sandbox generates no value for this schema: ${reason}.`)
}

/** @throws RequestProblem when the JSON of a value is too long; constants may be in it any number of times */
function assertSize(value: unknown): void {
  let left = maxCharacters
  const spend = (inner: unknown): void => {
    left -= typeof inner === 'string' ? inner.length : 1
    if (left < 0) throw tooMuch(`its value is longer than ${maxCharacters} characters`)
    if (typeof inner !== 'object' || inner === null) return
    for (const [name, entry] of Object.entries(inner)) {
      left -= name.length
      spend(entry)
    }
  }
  spend(value)
}

type Change = (schema: JsonObject, name: string) => JsonObject

/** Keywords with values that are no schemas, and with schemas by name. */
const literals = new Set(['const', 'enum', 'default', 'example', 'examples'])
const named = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

/**
 * A schema with a change in it and in all schemas within it.
 * @param name of the property that it describes
 */
function changed(schema: JsonObject, change: Change, name = ''): JsonObject {
  const inner = (value: unknown, property: string): unknown => {
    if (Array.isArray(value)) return value.map((entry) => inner(entry, property))
    return isObject(value) ? changed(value, change, property) : value
  }
  return mapped(change(schema, name), (value, keyword) => {
    if (literals.has(keyword)) return value
    return named.has(keyword) && isObject(value) ? mapped(value, inner) : inner(value, name)
  })
}

function mapped(object: JsonObject, change: (value: unknown, name: string) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value, name)]))
}

const typeNames = ['type', '$ref', 'enum', 'const', 'anyOf', 'oneOf', 'allOf', 'properties', 'items']
const bounds = [
  ['minimum', 'exclusiveMinimum'],
  ['maximum', 'exclusiveMaximum'],
] as const

/**
 * A schema in the spelling of Google and of OpenAPI 3.0 as JSON Schema.
 * @throws RequestProblem when it requires too much
 */
function standardSchema(schema: JsonObject): JsonObject {
  for (const [name, limit] of Object.entries(limits)) {
    const size = name === 'pattern' ? textOf(schema[name]).length : (numberOf(schema[name]) ?? 0)
    if (size > limit) throw tooMuch(`the limit of ${name} is ${limit}`)
  }
  const result: Record<string, unknown> = { ...schema }
  for (const name of ['$schema', 'nullable', 'propertyOrdering']) delete result[name]
  const types = listOf(Array.isArray(schema['type']) ? schema['type'] : [schema['type']])
    .filter((type) => typeof type === 'string')
    .map((type) => type.toLowerCase())
  if (types.length === 0 || types.includes('type_unspecified')) delete result['type']
  else result['type'] = types.length === 1 ? types[0] : types
  for (const [inclusive, exclusive] of bounds) {
    if (typeof schema[exclusive] !== 'boolean') continue
    delete result[exclusive]
    if (!schema[exclusive] || schema[inclusive] === undefined) continue
    delete result[inclusive]
    result[exclusive] = schema[inclusive]
  }
  const { properties, propertyOrdering } = schema
  if (isObject(properties) && Array.isArray(propertyOrdering)) {
    const order = propertyOrdering.filter(
      (name) => typeof name === 'string' && Object.hasOwn(properties, name),
    )
    const first = Object.fromEntries(order.map((name: string) => [name, properties[name]]))
    result['properties'] = { ...first, ...properties }
  }
  return result
}

/** What makes a value look real, within the schema: words in place of letters, small numbers. */
function plausibleSchema(schema: JsonObject, name: string, random: Random): JsonObject {
  const { type, pattern, format, minLength, maxLength } = schema
  const [least, most] = [numberOf(minLength) ?? 0, numberOf(maxLength) ?? Infinity]
  if (schema['enum'] !== undefined || schema['const'] !== undefined) return schema
  if (type === 'integer' || type === 'number') return { ...schema, ...smallRange(schema) }
  if (typeof pattern === 'string') return { ...schema, pattern: generatedPattern(pattern, least) }
  if (type === 'array' && schema['items'] === undefined) return { ...schema, items: { type: 'string' } }
  if (type !== 'string' || format !== undefined) return schema
  const word = pick(random, words)
  const full = `[sandbox] ${name === '' ? '' : `${name.replaceAll('_', ' ')} `}${word}`
  const text = full.length > most ? word.slice(0, most) : full
  return { ...schema, const: text.padEnd(least, ` ${word}`).trimEnd().padEnd(least, 'x') }
}

/** From 1 to 100 where that is within the bounds: clients state the widest ones that a type has. */
function smallRange(schema: JsonObject): JsonObject {
  const step = numberOf(schema['multipleOf']) ?? (schema['type'] === 'integer' ? 1 : 0.5)
  const width = Math.max(100 * step, 100)
  const [low, high] = bounds.map(([inclusive, exclusive]) => numberOf(schema[exclusive] ?? schema[inclusive]))
  if ((low ?? 0) < 1 && (high ?? Infinity) > width) {
    return {
      minimum: 1,
      maximum: width,
      multipleOf: step,
      exclusiveMinimum: undefined,
      exclusiveMaximum: undefined,
    }
  }
  if (high === undefined) return { maximum: low! + width }
  return low === undefined ? { minimum: high - width } : {}
}

/** A pattern in what the generator knows, with its first unlimited repeat as often as the text has to be long. */
function generatedPattern(pattern: string, least: number): string {
  return pattern
    .replace(/\\u([\da-f]{4})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replace(/\\([pP])\{(\w+)\}/g, (_, sign: string, set: string) =>
      sign === 'P' ? '-' : set.startsWith('N') ? '7' : set === 'Lu' ? 'A' : 'a',
    )
    .replace(/(?<=[^\\(])[+*]|\{\d+,\}/, (repeat) => (least > 1 ? `{${least},}` : repeat))
}

/** Without the digits that only binary fractions have. */
function rounded(value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value
}
