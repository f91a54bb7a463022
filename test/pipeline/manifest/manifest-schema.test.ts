import { Ajv2020 } from 'ajv/dist/2020.js'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { manifestSchema } from '../../../src/pipeline/manifest/manifest-schema.ts'
import { pngBytes } from '../../support/image-bytes.ts'
import { mistakesIn } from './manifest-files.ts'
import { runs } from '../../support/sample.ts'

const validate = new Ajv2020({ strict: true, allowUnionTypes: true, strictRequired: false }).compile(
  manifestSchema(),
)

const picture = { 'image create': { prompt: 'x' }, out: 'a.png' }
const whole = (job: object) => ({ version: 1, jobs: { a: job } })

test('everything that a manifest may have is taken', () => {
  const optional = { alt: 'x', variants: 2, pick: 1, frozen: true, on_unknown: 'retry' }
  validate({
    version: 1,
    env: ['A_1'],
    gateway: 'main',
    budget: { creates: 1, cost: 0.5 },
    lanes: { text: 1, image: 1, video: 1 },
    lock_prompts: true,
    defaults: { 'image create': { model: 'm' } },
    jobs: {
      plain: picture,
      full: { ...picture, each: [{ id: 1 }], ...optional },
      'defaults-alone': { 'image create': null, out: 'a.png' },
      several: { 'image edit': { prompt: 'x', image: ['@b[${id}]', 'm.png'] }, out: 'a.png' },
      column: { ...picture, 'image create': { prompt: 'x', n: '${n}' } },
      'known-word': { ...picture, 'image create': { prompt: 'x', size: '100x100' } },
      null: { ...picture, 'image create': { prompt: 'x', quality: null } },
    },
  })
  expect(validate.errors).toBeNull()
})

test.each<[what: string, manifest: object, path: string]>([
  ['another version', { version: 2, jobs: {} }, '/version'],
  ['an unknown field', { version: 1, jobs: {}, enf: [] }, ''],
  ['an unknown command', whole({ 'image creat': {}, out: 'a.png' }), '/jobs/a'],
  ['two commands', whole({ ...picture, respond: { input: 'x' } }), '/jobs/a'],
  ['no output', whole({ 'image create': { prompt: 'x' } }), '/jobs/a'],
  ['a name in capitals', { version: 1, jobs: { A: picture } }, '/jobs'],
  ['no such field', whole({ ...picture, 'image create': { promt: 'x' } }), '/jobs/a/image create'],
  ['a limit', whole({ ...picture, 'image create': { n: 11 } }), '/jobs/a/image create/n'],
  ['a closed word', whole({ respond: { truncation: 'no' }, out: 'a.txt' }), '/jobs/a/respond/truncation'],
  ['a URL', whole({ 'image edit': { image: 'https://a.b/c.png' }, out: 'a' }), '/jobs/a/image edit/image'],
  ['an absolute path', whole({ respond: { schema: '/a.json' }, out: 'a' }), '/jobs/a/respond/schema'],
  ['a list for one file', whole({ 'image edit': { mask: ['a'] }, out: 'a' }), '/jobs/a/image edit/mask'],
  ['an unknown assertion', whole({ ...picture, assert: { widht: 1 } }), '/jobs/a/assert'],
  ['a bad variable', { version: 1, env: ['A-B'], jobs: {} }, '/env/0'],
])('%s is refused', (_, manifest, path) => {
  expect(validate(manifest)).toBe(false)
  expect(validate.errors!.map(({ instancePath }) => instancePath)).toContain(path)
})

test('fields are described, for editors', () => {
  const prompt = { description: expect.stringContaining('what to draw') }
  expect(manifestSchema()).toMatchObject({
    properties: { lock_prompts: { description: 'keep the prompts in the lock' } },
    $defs: { 'image-create': { properties: { prompt } } },
  })
})

const text = fc.constantFrom<unknown>('x', '', 'auto', 'high', '1024x1024', '${id}', '@b', 'm.png')
const value = fc.oneof(
  { arbitrary: text, weight: 6 },
  fc.constantFrom<unknown>(null, true, 0, 1, 2, 100, 0.5, -1, 1e30),
  fc.constantFrom<unknown>([], ['x'], ['m.png', '@b'], {}, { file: 'm.md' }, { file: 5 }, { a: { b: [1] } }),
)
const fields = (...names: readonly string[]) =>
  fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 4, noNullPrototype: true })
const command = fc.oneof(
  fc.record({ 'image create': fields('prompt', 'model', 'n', 'size', 'quality', 'stream', 'user') }),
  fc.record({ 'image edit': fields('prompt', 'image', 'mask', 'n', 'input_fidelity', 'background') }),
  fc.record({ respond: fields('input', 'attach', 'schema', 'truncation', 'include', 'reasoning', 'tools') }),
  fc.record({ 'video generate': fields('prompt', 'reference', 'duration_seconds', 'instances', 'seed') }),
)
const own = fields('out', 'each', 'alt', 'variants', 'pick', 'assert', 'frozen', 'on_unknown')
const job = fc
  .tuple(fc.constantFrom({}, { out: 'out' }), own, command)
  .map((parts) => Object.assign({}, ...parts))

test('what the schema refuses, the program refuses, too', async () => {
  await fc.assert(
    fc.asyncProperty(job, fields('env', 'gateway', 'budget', 'lanes', 'lock_prompts'), async (a, top) => {
      const manifest = { version: 1, ...top, jobs: { a, b: picture } }
      if (validate(manifest)) return
      const found = await mistakesIn(JSON.stringify(manifest), { 'm.png': pngBytes(), 'm.md': 'x' })
      expect(found).not.toEqual([])
    }),
    runs(300),
  )
})
