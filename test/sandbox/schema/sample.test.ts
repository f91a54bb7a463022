import { Ajv2020 } from 'ajv/dist/2020.js'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { sampleOf } from '../../../src/sandbox/schema/sample.ts'
import { seededRandom } from '../../../src/sandbox/seeded-random.ts'
import { runs } from '../../support/sample.ts'

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })

const samplesOf = (schema: object) =>
  Promise.all(Array.from({ length: 10 }, (_, seed) => sampleOf(schema, seededRandom(seed))))

/** What is wrong with the samples of ten seeds; empty when all satisfy the schema. */
async function faultsOf(schema: object): Promise<unknown[]> {
  const validate = ajv.compile(schema)
  const values = await samplesOf(schema)
  return values.filter((value) => !validate(value)).map((value) => ({ value, errors: validate.errors }))
}

const text = { type: 'string' }
const node = { type: 'object', properties: { name: text }, required: ['name'] }
const tail = { anyOf: [{ $ref: '#/$defs/list' }, { type: 'null' }] }
const list = {
  type: 'object',
  properties: { value: { type: 'integer' }, next: tail },
  required: ['value', 'next'],
  additionalProperties: false,
}
const kids = { type: 'array', items: { $ref: '#' } }

test.for<readonly [string, object]>([
  ['object', { type: 'object', properties: { a: { type: 'string' }, b: { type: 'null' } }, required: ['a'] }],
  ['enum', { enum: ['a', 2, null] }],
  ['const', { const: { a: [1] } }],
  ['empty array', { type: 'array', maxItems: 0 }],
  ['unique items', { type: 'array', items: { enum: ['a', 'b', 'c'] }, minItems: 3, uniqueItems: true }],
  ['tuple', { type: 'array', prefixItems: [text, { type: 'integer' }], items: false, minItems: 2 }],
  ['contains', { type: 'array', contains: { const: 7 } }],
  ['integer range', { type: 'integer', minimum: 3, maximum: 4 }],
  ['negative integers', { type: 'integer', maximum: -5 }],
  ['text lengths', { type: 'string', minLength: 30, maxLength: 32 }],
  ['pattern', { type: 'string', pattern: '^[A-Z]{2}-\\d{3,5}(x|yy)?$' }],
  ['several types', { type: ['null', 'integer'], minimum: 5 }],
  ['anyOf', { anyOf: [{ type: 'null' }, { type: 'string', maxLength: 5 }] }],
  ['oneOf', { oneOf: [{ ...node, properties: { name: { const: 'x' } } }, { type: 'integer' }] }],
  ['allOf', { allOf: [node, { properties: { age: { type: 'integer', minimum: 1 } }, required: ['age'] }] }],
  ['definitions with escapes', { definitions: { 'a/b': { type: 'integer' } }, $ref: '#/definitions/a~1b' }],
  ['a list that refers to itself', { $defs: { list }, $ref: '#/$defs/list' }],
  ['a tree without an end of its own', { ...node, properties: { ...node.properties, kids } }],
  ['no type at all', {}],
])('%s', async ([, schema]) => {
  expect(await faultsOf(schema)).toEqual([])
})

test("Google's spelling: upper-case types, nullable, property order", async () => {
  const schema = {
    type: 'OBJECT',
    properties: {
      b: { type: 'INTEGER', format: 'int32', nullable: true },
      a: { type: 'ARRAY', items: { type: 'STRING' } },
    },
    propertyOrdering: ['b', 'a'],
    required: ['a', 'b'],
  }
  const value = (await sampleOf(schema, seededRandom(1))) as Record<string, unknown>
  expect(Object.keys(value)).toEqual(['b', 'a'])
  expect(value['b']).toBeTypeOf('number')
  expect(value['a']).toEqual([expect.any(String)])
})

test.for([
  ['date', /^\d{4}-\d\d-\d\d$/],
  ['date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/],
  ['email', /^[a-z]+@example\.com$/],
  ['uuid', /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/],
  ['uri', /^https:\/\/example\.com\//],
  ['ipv4', /^192\.0\.2\.\d{1,2}$/],
] as const)('format %s', async ([format, expected]) => {
  expect(await sampleOf({ type: 'string', format }, seededRandom(3))).toMatch(expected)
})

test('text of a pattern matches the pattern', async () => {
  const patterns = fc.stringMatching(
    /^([a-c]|\\d|\\w|\[a-f\]|\[\^x\]|\(a\|bc\)|a\?|b\*|c\+|d\{2,3\}|\\\.){1,8}$/,
  )
  const matches = async (pattern: string, seed: number) => {
    const schema = { type: 'string', pattern: `^${pattern}$` }
    expect(await sampleOf(schema, seededRandom(seed))).toMatch(new RegExp(`^(${pattern})$`))
  }
  await fc.assert(fc.asyncProperty(patterns, fc.integer(), matches), runs(200))
})

test('any JSON as a schema gives a value and pollutes no prototype', async () => {
  const pollutesNothing = async (schema: unknown) => {
    await sampleOf(schema, seededRandom(1))
    return ({} as Record<string, unknown>)['polluted'] === undefined
  }
  await fc.assert(fc.asyncProperty(fc.jsonValue(), pollutesNothing), runs(200))
  const names = ['__proto__', 'constructor', 'prototype']
  const properties = Object.fromEntries(names.map((name) => [name, { const: { polluted: true } }]))
  const value = await sampleOf({ type: 'object', properties, required: names }, seededRandom(1))
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  expect(Object.keys(value as object).sort()).toEqual(['constructor', 'prototype'])
})
