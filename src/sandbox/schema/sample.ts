import { createContext, runInContext } from 'node:vm'
import { isDeeperThan } from '../../json.ts'
import { limitExceeded, RequestProblem } from '../http/request-problem.ts'
import { isObject, type JsonObject, listOf, mapped, numberOf, textOf, textsOf } from '../json-value.ts'
import { pick, type Random } from '../seeded-random.ts'

const maxCharacters = 2_000_000
/** A short schema can ask for an enormous value. */
const limits = { minLength: 1_000_000, minItems: 20_000, minProperties: 20_000, pattern: 2_000 }
/** A longer schema would take seconds to compile: its values are not checked. */
const maxCheckedCharacters = 100_000
const maxDepth = 100
/** Other requests wait meanwhile. */
const maxMs = 2_000

/** What each attempt asks for: first everything that the schema has, at last the least that it requires. */
const attempts = [
  { alwaysFakeOptionals: true, maxDefaultItems: 1 },
  { alwaysFakeOptionals: true, maxDefaultItems: 0 },
  { optionalsProbability: 0, maxDefaultItems: 0, maxDepth },
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
 * A value that satisfies a JSON Schema or Google's OpenAPI subset (upper-case types, `nullable`): of three attempts the
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
  const standard = standardSchema(schema)
  const typed = typeNames.some((name) => name in standard) ? standard : { ...standard, type: fallback }
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
    for (const options of attempts) {
      const more = { formats, seed: Math.floor(random() * 2 ** 31), outputTransform: rounded }
      const value = attempt(() => generateSync(typed, { ...options, ...more }))
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

/** Constants may be in a value any number of times. */
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

/** Keywords with values that are no schemas, and with schemas by name. */
const literals = new Set(['const', 'enum', 'default', 'example', 'examples'])
const named = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])
/** Longer texts are one constant. */
const longText = 1000
const typeNames = ['type', '$ref', 'enum', 'const', 'anyOf', 'oneOf', 'allOf', 'properties', 'items']

/** The JSON Schema of one in the spelling of Google and of OpenAPI. @throws RequestProblem when it requires too much */
function standardSchema(schema: JsonObject): JsonObject {
  for (const [name, limit] of Object.entries(limits)) {
    const size = name === 'pattern' ? textOf(schema[name]).length : (numberOf(schema[name]) ?? 0)
    if (size > limit) throw tooMuch(`the limit of ${name} is ${limit}`)
  }
  const { $schema: _, nullable: __, propertyOrdering, type, properties, ...others } = schema
  const types = listOf(Array.isArray(type) ? type : [type])
    .filter((name) => typeof name === 'string')
    .map((name) => name.toLowerCase())
  const length = numberOf(schema['minLength']) ?? 0
  const isTyped = types.length > 0 && !types.includes('type_unspecified')
  const result = {
    ...(isTyped && { type: types.length === 1 ? types[0] : types }),
    ...others,
    // The generator writes long texts letter by letter.
    ...(length > longText &&
      schema['pattern'] === undefined && { const: '[sandbox] '.repeat(length / 10 + 1).slice(0, length) }),
    ...(properties !== undefined && { properties: inOrder(properties, textsOf(propertyOrdering)) }),
  }
  const inner = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(inner) : isObject(value) ? standardSchema(value) : value
  return mapped(result, (value, keyword) => {
    if (literals.has(keyword)) return value
    return named.has(keyword) && isObject(value) ? mapped(value, inner) : inner(value)
  })
}

function inOrder(properties: unknown, names: readonly string[]): unknown {
  if (!isObject(properties)) return properties
  const first = names.filter((name) => Object.hasOwn(properties, name))
  return { ...Object.fromEntries(first.map((name) => [name, properties[name]])), ...properties }
}

/** Without the digits of binary fractions. */
function rounded(value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value
}
