import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findManifest } from '../../../src/pipeline/manifest/read-manifest.ts'
import { failing, withFsHook } from '../../support/fs-faults.ts'
import { pngBytes } from '../../support/image-bytes.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { oneJob, read } from './manifest-files.ts'

/** That of the design. */
const whole = `version: 1
env: [BRAND]
gateway: main
budget: { creates: 40, cost: 5.00 }
lanes: { image: 1 }
lock_prompts: true
defaults:
  image create: { model: gpt-image-2, size: 1536x1024, output_format: webp }
  image edit: { model: gpt-image-2, output_format: webp }
  respond: { model: some-text-model }
jobs:
  banner:
    image edit: { prompt: "Wide, room for a headline", image: "@hero#2", mask: masks/left.png }
    out: assets/banner.webp
    assert: { width: 1536, max_bytes: 400000 }
    frozen: true
  hero:
    image create: { prompt: { file: prompts/hero.md } }
    variants: 4
    pick: 2
    out: assets/hero.webp
    alt: Harbour at dawn, by \${env:BRAND}
  teaser:
    video generate: { model: veo-3.1, prompt: "The harbour wakes up", image: "@banner", reference: ["@hero=style", masks/left.png] }
    out: assets/teaser.mp4
    on_unknown: retry
  captions:
    each: data/products.csv
    respond: { input: "A caption in \${lang}", attach: "@photos[\${id}]", schema: schemas/caption.json }
    out: copy/\${id}.\${lang}.json
  photos:
    each: data/products.csv
    image create: { prompt: "\${name} on white", n: "\${count}" }
    out: assets/\${id}-{index}.webp
`

const files = {
  'prompts/hero.md': '\ufeffA harbour\r\nat dawn\r\n',
  'masks/left.png': pngBytes(),
  'data/products.csv': 'id,name,lang,count\nshoe,Red shoe,en,1\nhat,"Blue {hat}",de,2\n',
  'schemas/caption.json': '{"type": "object"}',
}

test('a manifest with everything in it', async () => {
  const manifest = await read(whole, files, { env: { BRAND: 'Acme', OTHER: 'no' } })
  expect(manifest).toMatchObject({
    gateway: 'main',
    budget: { creates: 40, cost: 5 },
    lanes: { text: 8, image: 1, video: 2 },
    locksPrompts: true,
    warnings: [],
    jobs: [
      { name: 'banner', instances: ['banner'] },
      { name: 'hero', instances: ['hero'] },
      { name: 'teaser', instances: ['teaser'] },
      { name: 'captions', instances: ['captions[shoe]', 'captions[hat]'] },
      { name: 'photos', instances: ['photos[shoe]', 'photos[hat]'] },
    ],
  })
  // Each behind what it needs.
  expect([...manifest.instances.keys()]).toEqual([
    'hero',
    'banner',
    'teaser',
    'photos[shoe]',
    'captions[shoe]',
    'photos[hat]',
    'captions[hat]',
  ])
  expect(Object.fromEntries(manifest.instances)).toMatchObject({
    hero: {
      fields: {
        size: { kind: 'value', value: '1536x1024' },
        // Without byte-order mark, carriage returns, and the end of the last line.
        prompt: { kind: 'text', text: 'A harbour\nat dawn', source: { path: 'prompts/hero.md' } },
      },
      variants: 4,
      pick: 2,
      alt: 'Harbour at dawn, by Acme',
      onUnknown: 'stop',
      at: { file: 'modelgate.yaml', line: 17, column: 3 },
    },
    banner: {
      fields: { mask: { kind: 'files', files: [{ source: { path: 'masks/left.png' }, role: null }] } },
      references: [{ text: '@hero#2', instance: 'hero', candidate: 2 }],
      asserts: { width: 1536, max_bytes: 400_000 },
      isFrozen: true,
    },
    teaser: {
      lane: 'video',
      onUnknown: 'retry',
      fields: {
        reference: {
          files: [
            { source: { reference: { instance: 'hero' } }, role: 'style' },
            { source: { path: 'masks/left.png' }, role: 'asset' },
          ],
        },
      },
    },
    // A row gives its values.
    'photos[hat]': {
      output: 'assets/hat-{index}.webp',
      count: 2,
      fields: { prompt: { text: 'Blue {hat} on white' }, n: { kind: 'value', value: 2 } },
    },
    'captions[hat]': {
      output: 'copy/hat.de.json',
      lane: 'text',
      onUnknown: 'retry',
      fields: {
        input: { kind: 'text', text: 'A caption in de' },
        attach: { files: [{ source: { reference: { instance: 'photos[hat]' } } }] },
        schema: { kind: 'value', value: { type: 'object' } },
      },
    },
  })
})

test('the nearest manifest upwards is found', async () => {
  const folder = temporaryFolder()
  writeFiles(folder, { 'modelgate.yaml': '', 'a/b/x.txt': '', 'a/modelgate.yaml/x.txt': '' })
  const context = testContext({ cwd: join(folder, 'a', 'b') })
  expect(await findManifest(context, undefined)).toBe(join(folder, 'modelgate.yaml'))
  expect(await findManifest(context, '../canon.yaml')).toBe(join(folder, 'a', 'canon.yaml'))
  // What is there and cannot be looked at is not passed over.
  const nearer = await withFsHook(failing('stat', 'EIO'), () => findManifest(context, undefined))
  expect(nearer).toBe(join(context.cwd, 'modelgate.yaml'))
})

test('texts that prompts share are put in, and one that nobody uses is told', async () => {
  const manifest = `version: 1
vars: { style: "Flat colours, \${no} columns", rules: { file: rules.md }, spare: Nothing }
jobs:
  boat: { image create: { model: gpt-image-2, prompt: "A boat. \${var:style}. \${var:rules}" }, out: boat.png }
`
  const { instances, warnings } = await read(manifest, { 'rules.md': 'No text\r\nanywhere\r\n' })
  expect(instances.get('boat')!.fields['prompt']).toMatchObject({
    text: 'A boat. Flat colours, ${no} columns. No text\nanywhere',
  })
  expect(warnings).toEqual(['No job uses `${var:spare}` of `vars:`.'])
})

test.each([
  ['boat.png', 'image', 'stop'],
  ['boat.JPG', 'image', 'stop'],
  ['boat.md', 'text', 'retry'],
  ['boat', 'text', 'retry'],
])('generate with the output %s makes %s', async (out, lane, onUnknown) => {
  const { instances } = await read(oneJob('generate: { model: m, prompt: Hi }', `out: ${out}`))
  expect(instances.get('hero')).toMatchObject({ lane, onUnknown, count: 1 })
})

test('a job may have the name of a subcommand, which is told', async () => {
  const { warnings, instances } = await read(
    'version: 1\njobs:\n  pick: { respond: { model: m, input: Hi }, out: a.txt }\n',
  )
  expect([...instances.keys()]).toEqual(['pick'])
  expect(warnings).toEqual(['The job pick has the name of a subcommand: run it alone as `run -- pick`.'])
})
