import { expect, test } from 'vitest'
import { runBench } from '../run/run-bench.ts'

const manifest = `version: 1
defaults:
  image create: { model: gpt-image-2, output_format: webp }
jobs:
  hero:
    image create: { prompt: { file: hero.md }, size: 1024x1024, quality: high }
    out: assets/hero.webp
    alt: Harbour
  note:
    respond: { model: m, input: What is a harbour?, attach: [facts.txt, more.txt], schema: note.json }
    out: copy/note.json
  photos:
    each: products.csv
    image create: { prompt: "\${name} on white" }
    out: assets/\${id}.webp
`
const files = {
  'hero.md': 'A harbour at dawn',
  'facts.txt': 'Ships.',
  'more.txt': 'Piers.',
  'note.json': '{"type":"object"}',
  'products.csv': 'id,name\nshoe,Red shoe\nhat,Blue hat\n',
}
type Path = keyof typeof files | 'modelgate.yaml'

/** A file, what is replaced in it, and what is to be said. */
const edits: readonly (readonly [Path, from: string | RegExp, to: string, ...said: string[]])[] = [
  ['modelgate.yaml', 'harbour?', 'bay?', 'note: `input` changed.'],
  [
    'modelgate.yaml',
    'on white',
    'on grey',
    'photos[shoe]: `prompt` changed.',
    'photos[hat]: `prompt` changed.',
  ],
  [
    'modelgate.yaml',
    'webp }',
    'webp, user: me }',
    ...['hero', 'photos[shoe]', 'photos[hat]'].map((id) => `${id}: \`user\` was added.`),
  ],
  ['modelgate.yaml', ', quality: high', '', 'hero: `quality` was removed.'],
  ['hero.md', 'dawn', 'dusk', 'hero: `prompt` changed (hero.md).'],
  ['more.txt', 'Piers', 'Sails', 'note: `attach` changed (facts.txt, more.txt).'],
  ['note.json', '}', ',"title":"x"}', 'note: `schema` changed.'],
  ['products.csv', 'Blue', 'Green', 'photos[hat]: `prompt` changed.'],
  [
    'modelgate.yaml',
    'version: 1',
    'version: 1\ngateway: other',
    ...['hero', 'note', 'photos[shoe]', 'photos[hat]'].map((id) => `${id}: \`gateway\` was added.`),
  ],
  // No key depends on these.
  ['modelgate.yaml', 'alt: Harbour', 'alt: Another harbour # No words.'],
  ['modelgate.yaml', '{ file: hero.md }', 'A harbour at dawn'],
  ['hero.md', /^.*$/, '\ufeffA harbour at dawn\r\n'],
  ['products.csv', /[^]*/, 'id,name,stock\r\nhat,Blue hat,3\r\nshoe,Red shoe,4\r\n'],
]

test('of each edit of a manifest or its files a plan names the field that was edited, and nothing else', async () => {
  const before = { 'modelgate.yaml': manifest, ...files }
  const bench = await runBench(before)
  expect((await bench.run()).error).toBeUndefined()
  for (const [path, from, to, ...said] of edits) {
    const edited = before[path].replace(from, to)
    expect(edited).not.toBe(before[path])
    bench.write(path, edited)
    const { document } = await bench.run({ mode: 'plan' })
    const stale = document!.instances.filter(({ state }) => state !== 'fresh')
    const found = stale.map(({ instance, reasons }) => `${instance}: ${reasons.join(' ')}`)
    expect.soft([path, to, ...found]).toEqual([path, to, ...said])
    bench.write(path, before[path])
  }
})
