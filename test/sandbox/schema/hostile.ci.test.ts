import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { sampleOf } from '../../../src/sandbox/schema/sample.ts'
import { seededRandom } from '../../../src/sandbox/seeded-random.ts'
import { runs, sample } from '../../support/sample.ts'

const long = 'x'.repeat(100_000)
const many = <Value>(length: number, value: (index: number) => Value) =>
  Array.from({ length }, (_, at) => value(at))
const arrayOf = (minItems: number, items: unknown) => ({ type: 'array', minItems, items })
const patterned = (pattern: string) => ({ type: 'string', pattern })
const objectOf = (count: number, schema: object) => ({
  type: 'object',
  required: many(count, (at) => `p${at}`),
  properties: Object.fromEntries(many(count, (at) => [`p${at}`, schema])),
})
/** Every level refers twice to the one below. */
const doubling = (levels: number) => ({
  $ref: `#/$defs/a${levels}`,
  $defs: Object.fromEntries(
    many(levels + 1, (at) => [
      `a${at}`,
      at === 0 ? {} : { allOf: many(2, () => ({ $ref: `#/$defs/a${at - 1}` })) },
    ]),
  ),
})

/** Many of them run into the limit of two seconds. */
const greedy: readonly (readonly [string, object])[] = [
  ['an endless allOf', { $defs: { a: { allOf: [{ $ref: '#/$defs/a' }] } }, $ref: '#/$defs/a' }],
  ['an unfinished class', patterned('\\p{'.repeat(10_000))],
  ['a thousand million texts', arrayOf(1e9, { type: 'string' })],
  ['a thousand million of anything', arrayOf(1e9, true)],
  ['a thousand million items of one constant', arrayOf(1e9, { const: 1 })],
  ['unique items that cannot be found', { ...arrayOf(1e9, { const: 1 }), uniqueItems: true }],
  ['5 million empty alternatives', patterned('|'.repeat(5e6))],
  ['a thousand million pieces that write nothing', patterned(`(?:${'^'.repeat(1e4)}){100000}`)],
  ['a text of a terabyte', { type: 'string', minLength: 1e12 }],
  ['500 texts of 500,000 characters', objectOf(500, { type: 'string', minLength: 500_000 })],
  ['10,000 patterned texts', arrayOf(10_000, patterned('^[a-z]{1000}$'))],
  ['a pattern with repeated repeats', patterned('((a{1000}){1000}){1000}')],
  ['a pattern that repeats a long text', patterned(`(${long}){100000}`)],
  ['a pattern of many ranges', patterned(`[${'\u4e00-\u9fff'.repeat(20_000)}]`)],
  ['a pattern of groups in groups', patterned('('.repeat(100_000))],
  ['a thousand million properties', { type: 'object', minProperties: 1e9 }],
  ['references that unfold to 65,536 parts, often', { ...doubling(15), ...objectOf(100, doubling(15)) }],
  ['a long constant, often', arrayOf(15_000, { const: long })],
  ['a long choice, often', arrayOf(15_000, { enum: [long] })],
  ['many required names, often', arrayOf(9_000, { type: 'object', required: many(9_000, String) })],
]

test.for(sample(greedy, 6, ([what]) => what))(
  'a schema that asks for too much is refused: %s',
  async ([, schema]) => {
    const refusal = { status: 400, facts: { code: 'sandbox_limit_exceeded' } }
    await expect(sampleOf(schema, seededRandom(1))).rejects.toMatchObject(refusal)
  },
)

const nulls = objectOf(9_000, { type: 'null' })
const [toA, toB, again] = [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/b' }, { $ref: '#' }]
const strange: readonly (readonly [string, object])[] = [
  ['a circle of references', { ...toA, $defs: { a: toB, b: toA } }],
  ['a reference to itself', again],
  ['many alternatives, often', arrayOf(1_000, { anyOf: many(1_000, () => ({ type: 'null' })) })],
  ['a required recursion that doubles', { properties: { a: again, b: again }, required: ['a', 'b'] }],
  ['a pattern that repeats nothing', patterned('(){999999999999}')],
  ['a long reference to itself', { $ref: `#${'/'.repeat(100_000)}` }],
  ['a reference that is no address', { $ref: '#/%' }],
  ['a character that there is not', patterned('\\u{ffffff}')],
  ['an order of 20,000 names', { ...nulls, propertyOrdering: many(20_000, String) }],
  ['a million characters', { type: 'string', minLength: 1_000_000 }],
]

test.for(sample(strange, 4, ([what]) => what))('a strange schema has a value: %s', async ([, schema]) => {
  expect(await sampleOf(schema, seededRandom(1))).toBeDefined()
})

test('no JSON as a schema exceeds the limits', async () => {
  const numbers = fc.oneof(fc.nat(), fc.double(), fc.constantFrom(1e9, 1e308, -1))
  const schemas = fc.letrec((tie) => ({
    inner: fc.oneof({ maxDepth: 3, depthIdentifier: 'schema' }, fc.constant({}), tie('schema')),
    schema: fc.record(
      {
        type: fc.constantFrom('string', 'array', 'object', 'integer', 'number'),
        minItems: numbers,
        minLength: numbers,
        minProperties: numbers,
        uniqueItems: fc.boolean(),
        pattern: fc.stringMatching(/^[a-c()[\]{}|*+?\\^$0-9,-]{0,30}$/),
        $ref: fc.constantFrom('#', '#/items', '#/properties/a', '#/allOf/0'),
        enum: fc.array(fc.jsonValue()),
        items: tie('inner'),
        contains: tie('inner'),
        properties: fc.record({ a: tie('inner'), b: tie('inner') }, { requiredKeys: [] }),
        required: fc.subarray(['a', 'b', 'c']),
        allOf: fc.array(tie('inner'), { maxLength: 3 }),
        anyOf: fc.array(tie('inner'), { maxLength: 3 }),
      },
      { requiredKeys: [] },
    ),
  })).schema
  /** In characters, of which each may need an escape of six; 0 for a refusal. */
  const sizeOf = async (schema: unknown) => {
    try {
      return JSON.stringify(await sampleOf(schema, seededRandom(1))).length
    } catch (error) {
      return (error as { status?: number }).status === 400 ? 0 : Infinity
    }
  }
  const staysWithinLimits = async (schema: unknown) => {
    expect(await sizeOf(schema)).toBeLessThan(12_000_000)
  }
  await fc.assert(fc.asyncProperty(schemas, staysWithinLimits), runs(100))
})
