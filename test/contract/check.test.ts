import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkBody, ignoredAdvice, type Endpoint, type Field } from '../../src/contract/field.ts'
import { generateContentEndpoint } from '../../src/contract/generate-content.ts'
import { imageCreateEndpoint } from '../../src/contract/images.ts'
import { modelCalled } from '../../src/contract/known-models.ts'
import { responsesEndpoint } from '../../src/contract/responses.ts'
import { runs } from '../support/sample.ts'

const about = 'a field'

/** An endpoint with one field, `x`. */
function endpointOf(field: Omit<Field, 'about'>): Endpoint {
  return { method: 'POST', path: '/x', envelope: 'openai', rules: [], fields: { x: { ...field, about } } }
}

const problems = (field: Omit<Field, 'about'>, x: unknown) =>
  checkBody(endpointOf(field), { x }).map(({ path, kind, problem }) => [path, kind, problem])

test.each<[string, Omit<Field, 'about'>, readonly unknown[], readonly (readonly [unknown, string])[]]>([
  [
    'text',
    { type: 'string' },
    ['', 'a'],
    [
      [1, 'must be text, not 1'],
      [null, 'must be text, not null'],
    ],
  ],
  ['text or null', { type: 'string', nullable: true }, [null, 'a'], [[false, 'must be text, not false']]],
  [
    'a number',
    { type: 'number', min: 0, max: 1 },
    [0, 1, 0.5, -0],
    [
      [1.0001, 'must be from 0 to 1, not 1.0001'],
      ['1', 'must be a number, not "1"'],
    ],
  ],
  [
    'a whole number',
    { type: 'integer', min: 1 },
    [1, Number.MAX_SAFE_INTEGER],
    [
      [0, 'must be at least 1, not 0'],
      [1.5, 'must be a whole number, not 1.5'],
      [0.5, 'must be a whole number, not 0.5'],
      [2 ** 53, 'must be a whole number, not 9007199254740992'],
    ],
  ],
  ['an upper bound', { type: 'integer', max: 1 }, [-5, 1], [[2, 'must be at most 1, not 2']]],
  ['a single number', { type: 'integer', min: 1, max: 1 }, [1], [[2, 'must be 1, not 2']]],
  ['a truth', { type: 'boolean' }, [true, false], [['true', 'must be true or false, not "true"']]],
  [
    'a word',
    { type: 'string', values: ['a', 'b'] },
    ['a', 'b'],
    [
      ['c', 'must be one of a, b, not "c"'],
      ['A', 'must be one of a, b, not "A"'],
    ],
  ],
  ['a known word', { type: 'string', known: ['a'] }, ['a', 'new'], []],
  [
    'an object',
    { type: 'object' },
    [{}, { any: 1 }],
    [
      [[], 'must be an object, not []'],
      ['{}', 'must be an object, not "{}"'],
    ],
  ],
  [
    'a list',
    { type: 'array', minLength: 1, maxLength: 2 },
    [[1], [1, 'b']],
    [
      [{}, 'must be an array, not {}'],
      [[], 'must have at least 1 entry, not 0'],
      [[1, 2, 3], 'must have at most 2 entries, not 3'],
    ],
  ],
  [
    'one of two types',
    { type: ['string', 'array'] },
    ['a', []],
    [
      [5, 'must be text or an array, not 5'],
      [null, 'must be text or an array, not null'],
    ],
  ],
  [
    'a word or an object',
    { type: ['string', 'object'], values: ['auto'] },
    ['auto', { own: 1 }],
    [
      ['own', 'must be one of auto, not "own"'],
      [null, 'must be text or an object, not null'],
    ],
  ],
  [
    'a length in characters, not in units',
    { type: 'string', maxLength: 2 },
    ['ab', '👩👩'],
    [
      ['👩👩👩', 'must have at most 2 characters, not 3'],
      ['abc', 'must have at most 2 characters, not 3'],
      ['\uffff\uffff\uffff', 'must have at most 2 characters, not 3'],
    ],
  ],
  [
    'a single character',
    { type: 'string', maxLength: 1 },
    ['a'],
    [['ab', 'must have at most 1 character, not 2']],
  ],
  [
    'a size, and no word',
    {
      type: 'string',
      size: { multiple_of: 16, max_ratio: 3, max_edge: 3840, min_pixels: 655_360, max_pixels: 8_294_400 },
    },
    ['1024x1024'],
    [['huge', 'must be WIDTHxHEIGHT, not "huge"']],
  ],
])('%s', (_, field, good, bad) => {
  for (const value of good) expect(problems(field, value)).toEqual([])
  for (const [value, problem] of bad) expect(problems(field, value)).toEqual([['x', 'value', problem]])
})

test('a wrong value is shown up to 40 characters', () => {
  const problem = (x: string) => checkBody(endpointOf({ type: 'integer' }), { x })[0]!.problem
  expect(problem('y'.repeat(38))).toBe('must be a whole number, not "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"')
  expect(problem('y'.repeat(39))).toBe('must be a whole number, not "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…')
})

test('every violation is reported, with its place', () => {
  const body = {
    contents: [{ role: 'user' }, 'x'],
    generationConfig: { topK: 0, thinkingConfig: { thinkingBudget: -2 }, own: 1, temperature: null },
    safetySettings: [{ category: 'a' }],
    cachedContent: 'x',
    tools: {},
  }
  expect(checkBody(generateContentEndpoint, body).map(({ path, kind }) => `${kind} ${path}`)).toEqual([
    'required contents.0.parts',
    'value contents.1',
    'value tools',
    'required safetySettings.0.threshold',
    'value generationConfig.temperature',
    'value generationConfig.topK',
    'value generationConfig.thinkingConfig.thinkingBudget',
    'unknown cachedContent',
  ])
})

test('what is required is missed', () => {
  expect(checkBody(generateContentEndpoint, {})).toEqual([
    { path: 'contents', kind: 'required', problem: 'is required' },
  ])
  expect(checkBody(responsesEndpoint, {})).toEqual([])
})

const rulesBroken = (body: Record<string, unknown>) =>
  checkBody(responsesEndpoint, body).map(({ kind, path, other }) => [kind, path, other])

test.each<[Record<string, unknown>, unknown[]]>([
  [{ previous_response_id: 'a', conversation: 'b' }, [['exclusive', 'previous_response_id', 'conversation']]],
  [{ previous_response_id: null, conversation: 'b' }, []],
  [{ temperature: 1, top_p: 1 }, []],
  [{ stream_options: {} }, [['requires', 'stream_options', 'stream']]],
  [{ stream_options: {}, stream: false }, [['requires', 'stream_options', 'stream']]],
  [{ stream_options: {}, stream: true }, []],
  [{ stream_options: null, stream: false }, []],
  [{ unknown: undefined }, []],
])('the rules of endpoint 2: %j', (body, expected) => {
  expect(rulesBroken(body)).toEqual(expected)
})

const broken = (id: string, body: Record<string, unknown>) =>
  checkBody(imageCreateEndpoint, { prompt: 'a dot', ...body }, modelCalled(id))

const transparent = {
  path: 'background',
  kind: 'requires',
  problem: 'a transparent background needs the output format png or webp',
  other: 'output_format',
}
const compressed = {
  path: 'output_compression',
  kind: 'requires',
  problem: 'output_compression applies to the output formats webp and jpeg only',
  other: 'output_format',
}

test.each<[Record<string, unknown>, unknown[]]>([
  [{ background: 'opaque', output_format: 'jpeg' }, []],
  [{ background: 'transparent', output_format: 'png' }, []],
  [{ background: 'transparent', output_format: 'jpeg' }, [transparent]],
  [{ output_compression: 50, output_format: 'webp' }, []],
  [{ output_compression: 50 }, [compressed]],
])('what a family requires of %j', (body, expected) => {
  expect(broken('image-model-a', body)).toEqual(expected)
})

test('a default that is allowed need not be given', () => {
  expect(broken('image-model-a', { background: 'transparent' })).toEqual([])
})

test('what a family requires is not required of models of no family', () => {
  expect(broken('flux-pro', { background: 'transparent', output_format: 'jpeg' })).toEqual([])
  expect(broken('flux-pro', { output_compression: 50 })).toEqual([])
})

test('a rule about some values leaves the others alone', () => {
  expect(broken('flux-pro', { partial_images: 0 })).toEqual([])
  expect(broken('flux-pro', { partial_images: 1 })).toEqual([
    {
      path: 'partial_images',
      kind: 'requires',
      problem: 'partial images come only while streaming',
      other: 'stream',
    },
  ])
})

test('advice is given by itself, and is no violation', () => {
  const body = { temperature: 1, top_p: 1, previous_response_id: 'a', conversation: 'b', stream_options: {} }
  expect(ignoredAdvice(responsesEndpoint, body).map(({ path, kind, other }) => [path, kind, other])).toEqual([
    ['temperature', 'exclusive', 'top_p'],
  ])
  expect(checkBody(responsesEndpoint, body).map(({ path }) => path)).toEqual([
    'previous_response_id',
    'stream_options',
  ])
  expect(ignoredAdvice(responsesEndpoint, { temperature: 1 })).toEqual([])
})

test('names that objects inherit are unknown like any other', () => {
  const body = JSON.parse('{"__proto__":1,"constructor":1,"toString":1}') as Record<string, unknown>
  expect(checkBody(responsesEndpoint, body).map(({ path }) => path)).toEqual([
    '__proto__',
    'constructor',
    'toString',
  ])
})

test('any JSON is judged, and nothing throws', () => {
  const names = Object.keys(responsesEndpoint.fields)
  const bodies = fc.dictionary(fc.oneof(fc.constantFrom(...names), fc.string()), fc.jsonValue())
  fc.assert(
    fc.property(bodies, (body) => {
      for (const { path, problem } of checkBody(responsesEndpoint, body)) {
        expect(path).not.toBe(undefined)
        expect(problem).not.toBe('')
      }
    }),
    runs(500),
  )
})
