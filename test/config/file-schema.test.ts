import { Ajv } from 'ajv'
import { expect, test } from 'vitest'
import { configSchema, type ConfigOwner } from '../../src/config/file-schema.ts'
import { fileLayer } from '../../src/config/layers.ts'
import { createProblemList } from '../../src/problems.ts'
import { testContext } from '../support/test-context.ts'

const context = testContext()

/** Whether the program takes a file with this content. */
async function isTaken(owner: ConfigOwner, content: object): Promise<boolean> {
  const problems = createProblemList()
  const file = { path: 'config.json', text: '', content, folder: '/' }
  await fileLayer(context, file, owner, problems)
  return !problems.any
}

const compiled = async (owner: ConfigOwner) =>
  new Ajv({ strictRequired: false }).compile(await configSchema(owner))

const sizes = { multiple_of: 16, max_ratio: 1.5, max_edge: 10, min_pixels: 1, max_pixels: 9 }
const create = (limits: unknown) => ({ families: { m: { 'image create': limits } } })
const edit = (sources: unknown) => ({ families: { m: { 'image edit': {}, sources } } })

const taken: readonly object[] = [
  { base_url: 'https://a.example', timeout: 2.5, max_retries: 100, quiet: true, retry: 'never' },
  { trusted_origins: ['https://a.example', 'HTTP://a.example/path'] },
  { families: { m: 'image-model-a', 'n.1': 'none' } },
  create({
    size: sizes,
    n: { min: 0, max: 1.5 },
    prompt: { max_length: 5 },
    quality: ['a', 'b'],
    stream: false,
  }),
  edit({ max_count: 2, below_mb: 0.5, media_types: ['image/png'], square: true }),
  { prices: { currency: 'EUR', m: { input: 0, output: 1.25, image: { '1024x1024': 1, default: 2 } } } },
  { prices: { m: { image: { '1024x1024': { low: 1, high: 2 } }, second: 3 } } },
  { profiles: { work: { timeout: 1, families: { m: 'none' } } } },
]

const refused: readonly object[] = [
  { timout: 5 },
  { api_key: 'text' },
  { 'base-url': 'https://a.example' },
  { timeout: '5' },
  { timeout: 0 },
  { max_retries: 2.5 },
  { max_retries: 101 },
  { quiet: 'yes' },
  { retry: 'perhaps' },
  { text_model: '' },
  { text_model: 'two\nlines' },
  { text_model: null },
  { trusted_origins: ['ftp://a.example'] },
  { trusted_origins: [5] },
  { families: { m: 5 } },
  { families: { m: {} } },
  create(null),
  create({ sze: false }),
  create({ n: true }),
  create({ n: { min: -1 } }),
  create({ n: { mx: 1 } }),
  create({ quality: [''] }),
  create({ prompt: { max_length: 1.5 } }),
  create({ size: { ...sizes, max_pixels: undefined } }),
  create({ size: { ...sizes, multiple_of: 0.5 } }),
  edit({ max_count: 1.5 }),
  edit({ media_types: ['image/tiff'] }),
  edit({ square: 1 }),
  { prices: { currency: 'E' } },
  { prices: { m: {} } },
  { prices: { m: { input: 1 } } },
  { prices: { m: { input: -1, output: 1 } } },
  { prices: { m: { inpt: 1, input: 1, output: 1 } } },
  { prices: { m: { image: { low: { '1k': -1 } } } } },
  { profiles: { work: 'text' } },
  { profiles: { work: { profile: 'home' } } },
]

test.each([
  ...taken.map((content) => [true, content] as const),
  ...refused.map((content) => [false, content] as const),
])(
  'that it is right is %s of the user file %j, by the program and by its schema',
  async (isRight, content) => {
    const plain = JSON.parse(JSON.stringify(content)) as object
    expect([await isTaken('user', plain), (await compiled('user'))(plain)]).toEqual([isRight, isRight])
  },
)

test.each(['api_key_command', 'trusted_origins', 'allow_http', 'ca_file', 'profiles', 'queue', 'prices'])(
  'a project file cannot have %s, by the program and by its schema',
  async (name) => {
    const matches = await compiled('project')
    for (const [content, isRight] of [
      [{ text_model: 'm', output_dir: 'art', retry: 'never' }, true],
      [{ text_model: 'm', [name]: {} }, false],
    ] as const) {
      expect([await isTaken('project', content), matches(content)]).toEqual([isRight, isRight])
    }
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
