import { expect, test } from 'vitest'
import { compileAnswerSchema } from '../../src/operations/answer-schema.ts'
import { Interrupted } from '../../src/errors.ts'
import { testContext } from '../support/test-context.ts'

async function verdict(schema: unknown, answer: string): Promise<unknown> {
  const { check } = await compileAnswerSchema(testContext(), schema)
  return await check(answer).catch((error: unknown) => error)
}
const failed = (code: string, message: string) => ({ exitCode: 14, code, message, facts: { billed: 'yes' } })
const mismatch = (places: string) =>
  failed('schema_mismatch', `The answer does not match --schema: ${places}.`)
const unchecked = (problem: string) =>
  failed('schema_unchecked', `The answer cannot be checked against --schema: ${problem}.`)

const person = {
  required: ['name', 'age'],
  properties: { name: { type: 'string' }, age: { type: 'integer' }, kind: { enum: ['a', 'b'] } },
  additionalProperties: false,
}
const tuple = { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }] }
const tree = {
  type: 'object',
  properties: { kids: { type: 'array', items: { $ref: '#' } } },
  required: ['kids'],
}

test.each<[string, unknown, string]>([
  ['unknown keywords', { 'x-own': 1, type: 'string', format: 'no-such-format' }, '"x"'],
  ['a format that is not checked', { type: 'string', format: 'date' }, '"not a date"'],
  [
    '$dynamicRef',
    { $dynamicAnchor: 'n', properties: { next: { $dynamicRef: '#n' } } },
    '{"next":{"next":{}}}',
  ],
  ['draft 7', tuple, '["a"]'],
  ['a reference to itself on the way into the value', tree, '{"kids":[{"kids":[]}]}'],
])('an answer matches: %s', async (_, schema, answer) => {
  expect(await verdict(schema, answer)).toBeUndefined()
})

test.each<[string, unknown, string, string]>([
  [
    'every place',
    person,
    '{"age":"old","kind":"c","more":1}',
    `(root) must have required property 'name'; (root) must NOT have additional properties ("more"); /age must be integer; /kind must be equal to one of the allowed values ("a", "b")`,
  ],
  ['a tuple of draft 7', tuple, '[1]', '/0 must be string'],
  ['a place below', tree, '{"kids":[{}]}', "/kids/0 must have required property 'kids'"],
  ['no JSON', person, 'Sure! {"name":', 'it is not JSON'],
])('a mismatch is told: %s', async (_, schema, answer, places) => {
  expect(await verdict(schema, answer)).toMatchObject(mismatch(places))
})

test('of many places the first ten are told, and how many more there are', async () => {
  const error = await verdict({ items: { type: 'string' } }, JSON.stringify(Array(25).fill(1)))
  const places = Array.from({ length: 10 }, (_, at) => `/${at} must be string`).join('; ')
  expect(error).toMatchObject(mismatch(`${places}; and 15 more`))
})

const endless = '--schema is nested too deeply, or the schema refers to itself without an end.'
const old = 'http://json-schema.org/draft-03/schema#'

test.each<[string, unknown, string]>([
  ['a type that is none', { type: 'text' }, '--schema is not a valid JSON Schema: /type must be '],
  ['null', null, '--schema must be a JSON object (a JSON Schema).'],
  ['a reference that leads nowhere', { $ref: '#/$defs/n' }, "can't resolve reference #/$defs/n from id #."],
  ['a draft nobody knows', { $schema: old }, `--schema has a "$schema" that is not known here: "${old}".`],
  ['a circle', { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }, endless],
  ['a circle under a name', { $id: 'https://example.com/a', items: { $ref: '#/items' } }, endless],
])('a schema is refused before anything is sent: %s', async (_, schema, message) => {
  await expect(compileAnswerSchema(testContext(), schema)).rejects.toMatchObject({
    exitCode: 2,
    code: 'invalid_request',
    message: expect.stringContaining(message),
    facts: { billed: 'no' },
  })
})

/** Every level refers twice to the one below. */
function doubling(levels: number): object {
  const defs = Array.from({ length: levels + 1 }, (_, at) => {
    const below = { $ref: `#/$defs/a${at - 1}` }
    return [`a${at}`, at === 0 ? { type: 'string' } : { anyOf: [below, below] }]
  })
  return { $ref: `#/$defs/a${levels}`, $defs: Object.fromEntries(defs) }
}

test('no answer is checked against a schema that refers to itself without an end', async () => {
  const schema = { anyOf: [{ $ref: '#' }, { type: 'string' }] }
  const problem = 'it is nested too deeply, or the schema refers to itself without an end'
  expect(await verdict(schema, '{"a":{"b":1}}')).toMatchObject(unchecked(problem))
})

test.each<[string, unknown, unknown]>([
  ['a pattern that backtracks', { pattern: '^(a+)+$' }, `${'a'.repeat(60)}!`],
  ['references that multiply', doubling(40), 1],
])('an answer that takes for ever to check is one that does not match: %s', async (_, schema, answer) => {
  const context = testContext()
  const { check } = await compileAnswerSchema(context, schema)
  const checking = check(JSON.stringify(answer)).catch((error: unknown) => error)
  await context.clock.advance(10_000)
  expect(await checking).toMatchObject(unchecked('it takes longer than 10 s'))
})

test('Ctrl-C ends the wait for a schema', async () => {
  const context = testContext()
  const compiling = compileAnswerSchema(context, { type: 'string' })
  context.abort(new Interrupted('interrupt'))
  await expect(compiling).rejects.toBe(context.signal.reason)
})

test('an answer that nests deeper than the stack is one that does not match', async () => {
  const answer = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  const error = await verdict({ items: { $ref: '#' } }, answer)
  expect(error).toMatchObject({ exitCode: 14, code: 'schema_unchecked' })
})

test('an answer of more mistakes than fit the memory is one that does not match', async () => {
  const { check } = await compileAnswerSchema(testContext(), { items: { type: 'string' } }, 16)
  const answer = `[${'1,'.repeat(1_000_000)}1]`
  await expect(check(answer)).rejects.toMatchObject(unchecked('it takes more memory than a check may'))
})

test('Ctrl-C ends the check of an answer', async () => {
  const context = testContext()
  const { check } = await compileAnswerSchema(context, { pattern: '^(?:(?:ab|cd|abcd)+!)+$' })
  const checking = check(JSON.stringify('abcd'.repeat(60)))
  context.abort(new Interrupted('interrupt'))
  await expect(checking).rejects.toBe(context.signal.reason)
})
