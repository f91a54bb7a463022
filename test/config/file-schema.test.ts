import { Ajv } from 'ajv'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { configSchema, type ConfigOwner } from '../../src/config/file-schema.ts'
import { projectLayer, userLayer } from '../../src/config/layers.ts'
import { createProblemList } from '../../src/problems.ts'
import { testContext } from '../support/test-context.ts'
import { runs } from '../support/sample.ts'

const context = testContext()

/** Whether the program takes a file with this content. */
async function isTaken(owner: ConfigOwner, content: object): Promise<boolean> {
  const problems = createProblemList()
  const file = { path: 'config.json', text: '', content, folder: '/' }
  await (owner === 'user' ? userLayer : projectLayer)(context, file, problems)
  return !problems.any
}

const compiled = async (owner: ConfigOwner) =>
  new Ajv({ strictRequired: false }).compile(await configSchema(owner))

const limit = fc.constantFrom<unknown[]>(
  false,
  true,
  [],
  ['a', 'b'],
  [''],
  { max_length: 5 },
  { max_length: 1.5 },
  { min: 0, max: 1.5 },
  { min: -1 },
  { mx: 1 },
  { multiple_of: 16, max_ratio: 1.5, max_edge: 10, min_pixels: 1, max_pixels: 9, words: [] },
  { multiple_of: 16, max_ratio: 3, max_edge: 10, min_pixels: 1 },
  { multiple_of: 0.5, max_ratio: 3, max_edge: 10, min_pixels: 1, max_pixels: 2 },
  null,
)
const limits = fc.dictionary(
  fc.constantFrom('size', 'n', 'prompt', 'quality', 'stream', 'model', 'sze'),
  limit,
  {
    maxKeys: 1,
  },
)
const family = fc.record(
  {
    about: fc.constantFrom<unknown[]>('a family', 5),
    'image create': fc.oneof(limits, fc.constant(null)),
    'image edit': limits,
    'video remix': limits,
    sources: fc.constantFrom<unknown[]>(
      {},
      { max_count: 2, below_mb: 0.5, media_types: ['image/png'], square: true },
      { max_count: 1.5 },
      { media_types: [] },
      { media_types: ['image/tiff'] },
      { square: 1 },
      [],
    ),
    other: fc.constant(1),
  },
  { requiredKeys: [] },
)
const families = fc.dictionary(
  fc.constantFrom('m', 'n.1'),
  fc.oneof(fc.constantFrom<unknown[]>('none', 'image-model-a', 5, null), family),
  { maxKeys: 1 },
)
const prices = fc.dictionary(
  fc.constantFrom('m', 'n.1', 'currency'),
  fc.oneof(
    fc.constantFrom<unknown[]>('EUR', 'E', 5, null),
    fc.dictionary(
      fc.constantFrom('input', 'output', 'cached_input', 'image', 'second', 'inpt'),
      fc.constantFrom<unknown[]>(
        0,
        1.25,
        -1,
        '1',
        { '1024x1024': 1, default: 2 },
        { '1024x1024': { low: 1, high: 2 } },
        { low: { '1k': 1 } },
        { '720p': -1 },
        [],
      ),
      { maxKeys: 3 },
    ),
  ),
  { maxKeys: 2 },
)
const scalar = fc.constantFrom<unknown[]>(
  'text',
  '',
  '  ',
  'two\nlines',
  'tab\t',
  0,
  1,
  100,
  101,
  2.5,
  -1,
  true,
  false,
  null,
  [],
  {},
  'never',
  'always',
  'off',
  'full',
  ['https://a.example'],
  ['ftp://a.example'],
  ['https:'],
  ['HTTP://a.example/path'],
  [5],
)

/** Names of settings, each with values that belong to some setting. */
async function files(owner: ConfigOwner) {
  const schema = await configSchema(owner)
  const names = [...Object.keys(schema['properties'] as object), 'timout', 'api_key', 'base-url', 'profiles']
  const others = names.filter((name) => !['families', 'prices', 'profiles'].includes(name))
  const settings = fc
    .tuple(
      fc.dictionary(fc.constantFrom(...others), scalar, { maxKeys: 1 }),
      fc.option(fc.oneof({ weight: 3, arbitrary: families }, scalar), { nil: undefined, freq: 1 }),
    )
    .chain(([all, own]) =>
      fc.option(prices, { nil: undefined, freq: 1 }).map((cost) => ({
        ...all,
        ...(own === undefined ? {} : { families: own }),
        ...(cost === undefined ? {} : { prices: cost }),
      })),
    )
  const profiles = fc.oneof(
    fc.dictionary(fc.constantFrom('work', 'home'), fc.oneof(settings, scalar), { maxKeys: 1 }),
    scalar,
  )
  return fc
    .tuple(settings, fc.option(profiles, { nil: undefined, freq: 1 }))
    .map(([all, own]) => (own === undefined ? all : { ...all, profiles: own }))
}

test.each<ConfigOwner>(['user', 'project'])(
  'the schema of a %s file takes what the program takes, and nothing else',
  async (owner) => {
    const matches = await compiled(owner)
    const verdicts = { taken: 0, refused: 0 }
    await fc.assert(
      fc.asyncProperty(await files(owner), async (content) => {
        const taken = await isTaken(owner, content)
        verdicts[taken ? 'taken' : 'refused']++
        // Of `$schema` the program does not care what it is.
        if ('$schema' in content) delete content['$schema']
        expect({ content, taken: matches(content) }).toEqual({ content, taken })
      }),
      runs(2_000),
    )
    expect(verdicts.taken).toBeGreaterThan(20)
    expect(verdicts.refused).toBeGreaterThan(20)
  },
)

test('editors get descriptions, words and defaults', async () => {
  const { properties } = (await configSchema('user')) as { properties: Record<string, object> }
  expect(properties['retry']).toEqual({
    description: 'what to retry: never, safe or always',
    type: 'string',
    enum: ['never', 'safe', 'always'],
    default: 'safe',
  })
  expect(properties['connect_timeout']).toMatchObject({ type: 'number', exclusiveMinimum: 0, default: 10 })
  expect((await configSchema('project'))['properties']).not.toHaveProperty('api_key_command')
})
