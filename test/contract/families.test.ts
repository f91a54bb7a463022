import { describe, expect, test } from 'vitest'
import { familyCalled } from '../../src/contract/families.ts'
import { checkBody } from '../../src/contract/field.ts'
import { imageCreateEndpoint, imageEditEndpoint } from '../../src/contract/images.ts'
import { modelCalled } from '../../src/contract/known-models.ts'
import { sizeText, type SizeRule } from '../../src/contract/size-rule.ts'

const create = { prompt: 'a dot' }
const problems = (id: string, body: Record<string, unknown>, endpoint = imageCreateEndpoint) =>
  checkBody(endpoint, { ...create, ...body }, modelCalled(id)).map(
    ({ path, problem }) => `${path} ${problem}`,
  )

// Specification, endpoint 4 and Limits: what each model takes, by field.
const currentModel = {
  size: ['1024x1024', '1536x1024', '1024x1536', 'auto'],
  quality: ['auto', 'high', 'medium', 'low'],
  background: ['opaque', 'auto'],
  moderation: ['low', 'auto'],
  output_format: ['png', 'jpeg', 'webp'],
  response_format: 'nothing',
  style: 'nothing',
  n: [1, 10],
} as const
const created: Readonly<Record<string, Readonly<Record<string, readonly unknown[] | 'nothing'>>>> = {
  'image-model-a': currentModel,
  'image-model-a-mini': currentModel,
  'image-model-b': {
    size: ['256x256', '512x512', '1024x1024'],
    quality: ['auto', 'standard'],
    background: 'nothing',
    moderation: 'nothing',
    output_format: 'nothing',
    response_format: ['url', 'b64_json'],
    style: 'nothing',
    n: [1, 10],
  },
  'image-model-c': {
    size: ['1024x1024', '1792x1024', '1024x1792'],
    quality: ['auto', 'hd', 'standard'],
    background: 'nothing',
    moderation: 'nothing',
    output_format: 'nothing',
    response_format: ['url', 'b64_json'],
    style: ['vivid', 'natural'],
    n: [1],
  },
}

const everyValue: Readonly<Record<string, readonly unknown[]>> = {
  size: '256x256 512x512 1024x1024 1536x1024 1024x1536 1792x1024 1024x1792 1536x864 auto'.split(' '),
  quality: ['auto', 'max', 'xhigh', 'high', 'medium', 'low', 'hd', 'standard'],
  background: ['opaque', 'auto', 'clear'],
  moderation: ['low', 'auto', 'high'],
  output_format: ['png', 'jpeg', 'webp', 'avif'],
  response_format: ['url', 'b64_json', 'bytes'],
  style: ['vivid', 'natural', 'noir'],
  n: [1, 10],
}

const taken = (id: string) =>
  Object.fromEntries(
    Object.entries(everyValue).map(([name, values]) => {
      const right = values.filter((value) => problems(id, { [name]: value }).length === 0)
      return [name, right.length === 0 ? 'nothing' : right.toSorted()]
    }),
  )

test.each(Object.entries(created))('%s takes what the specification says', (id, expected) => {
  const sorted = Object.entries(expected).map(([name, values]) => [
    name,
    values === 'nothing' ? values : values.toSorted(),
  ])
  expect(taken(id)).toEqual(Object.fromEntries(sorted))
})

test('a model of no family takes any word and any size', () => {
  const all = Object.entries(everyValue).map(([name, values]) => [name, values.toSorted()])
  expect(taken('flux-pro')).toEqual(Object.fromEntries(all))
  const words = { size: '7x9', quality: 'ultra', background: 'transparent', output_format: 'jpeg' }
  expect(problems('flux-pro', { ...words, output_compression: 7, style: 'noir' })).toEqual([])
})

test('a model of no family has the types, ranges and required fields of all', () => {
  expect(problems('flux-pro', { n: 11, size: 7, stream: 'yes', output_compression: 101 })).toEqual([
    'n must be from 1 to 10, not 11',
    'output_compression must be from 0 to 100, not 101',
    'stream must be true or false, not "yes"',
    'size must be text, not 7',
  ])
  expect(problems('flux-pro', { prompt: 'x'.repeat(32_001) })).toEqual([
    'prompt must have at most 32000 characters, not 32001',
  ])
})

describe.each(['gpt-image-2', 'gpt-image-2-2026-04-21', 'gpt-image-2.5-flare'])('the sizes of %s', (id) => {
  const sizeProblems = (size: unknown, endpoint = imageCreateEndpoint) => problems(id, { size }, endpoint)

  test.each(['auto', '1024x1024', '1536x864', '3840x2160', '2160x3840', '480x1440', '1440x480', '1024x640'])(
    '%s is taken',
    (size) => {
      expect(sizeProblems(size)).toEqual([])
      expect(sizeProblems(size, imageEditEndpoint)).toEqual([])
    },
  )

  const subject = id === 'gpt-image-2' ? id : `${id} (${id.includes('.') ? 'gpt-image-2.5' : 'gpt-image-2'})`
  test.each([
    ['1000x1024', 'have edges that are multiples of 16'],
    ['1024x1000', 'have edges that are multiples of 16'],
    ['464x1440', 'have a ratio from 1:3 to 3:1'],
    ['1440x464', 'have a ratio from 1:3 to 3:1'],
    ['3856x2144', 'have edges of at most 3840'],
    ['1280x3856', 'have a ratio from 1:3 to 3:1 and edges of at most 3840'],
    ['1008x640', 'have 655,360 to 8,294,400 pixels'],
    ['3840x2176', 'have 655,360 to 8,294,400 pixels'],
    ['huge', 'be auto or WIDTHxHEIGHT'],
    ['1024', 'be auto or WIDTHxHEIGHT'],
    ['01024x1024', 'be auto or WIDTHxHEIGHT'],
    ['1024X1024', 'be auto or WIDTHxHEIGHT'],
    ['1024x1024px', 'be auto or WIDTHxHEIGHT'],
    ['', 'be auto or WIDTHxHEIGHT'],
  ])('%s is refused', (size, problem) => {
    expect(sizeProblems(size)).toEqual([`size must ${problem} for ${subject}, not "${size}"`])
  })

  test('a list that holds a size is refused', () => {
    expect(sizeProblems(['1024x1024'])).toEqual([
      `size must be auto or WIDTHxHEIGHT for ${subject}, not ["1024x1024"]`,
    ])
  })
})

test('more levels of quality came with gpt-image-2.5', () => {
  expect(problems('gpt-image-2.5-sunburst', { quality: 'max' })).toEqual([])
  expect(problems('gpt-image-2', { quality: 'max' })).toEqual([
    'quality must be one of auto, high, medium, low for gpt-image-2, not "max"',
  ])
})

test('messages about a limit name the given model, with the family beside it', () => {
  expect(problems('dall-e-2', { size: '1536x1024', style: 'vivid', prompt: 'x'.repeat(1001) })).toEqual([
    'prompt must have at most 1000 characters for dall-e-2 (image-model-b), not 1001',
    'size must be one of 256x256, 512x512, 1024x1024 for dall-e-2 (image-model-b), not "1536x1024"',
    'style is not for dall-e-2 (image-model-b)',
  ])
  expect(problems('image-model-b', { style: 'vivid' })).toEqual(['style is not for image-model-b'])
})

test('a field that a model lacks may be given as what it is without it', () => {
  const [model, endpoint] = [modelCalled('image-model-b'), imageCreateEndpoint]
  expect(problems('image-model-b', { stream: false, style: null })).toEqual([])
  expect(checkBody(endpoint, { ...create, stream: true }, model)).toEqual([
    { path: 'stream', kind: 'family', problem: 'is not for image-model-b' },
  ])
})

test.each([
  ['image-model-a', { input_fidelity: 'low' }, []],
  [
    'image-model-a',
    { input_fidelity: 'medium' },
    ['input_fidelity must be one of high, low for image-model-a, not "medium"'],
  ],
  [
    'image-model-a',
    { quality: 'standard' },
    ['quality must be one of auto, high, medium, low for image-model-a, not "standard"'],
  ],
  ['gpt-image-1', { input_fidelity: 'high' }, []],
  [
    'gpt-image-1-mini',
    { input_fidelity: 'high' },
    ['input_fidelity is not for gpt-image-1-mini (image-model-a-mini)'],
  ],
])('an edit with %s and %j', (id, body, expected) => {
  expect(problems(id, body, imageEditEndpoint)).toEqual(expected)
})

test('the rule of sizes in words', () => {
  const { size } = familyCalled('gpt-image-2').endpoints['image create']!
  expect(sizeText((size as { size: SizeRule }).size, ['auto'])).toBe(
    'auto or WIDTHxHEIGHT, with edges that are multiples of 16, a ratio from 1:3 to 3:1, edges of at most 3840 and 655,360 to 8,294,400 pixels',
  )
})

test('the sources of an edit, as the specification limits them', () => {
  const types = ['image/png', 'image/webp', 'image/jpeg']
  const current = { max_count: 16, below_bytes: 50_000_000, media_types: types, square: false }
  for (const id of ['image-model-a', 'image-model-a-mini', 'gpt-image-2', 'gpt-image-2.5'] as const) {
    expect(familyCalled(id).sources).toEqual(current)
  }
  const legacy = { max_count: 1, below_bytes: 4_000_000, media_types: ['image/png'], square: true }
  expect(familyCalled('image-model-b').sources).toEqual(legacy)
})
