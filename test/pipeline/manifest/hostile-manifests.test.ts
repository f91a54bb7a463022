import { expect, test } from 'vitest'
import { mistakesIn, oneJob } from './manifest-files.ts'

/** Each alias stands for nine of the one before it. */
const bomb = [
  'version: 1',
  'a0: &a0 [x, x, x, x, x, x, x, x, x]',
  ...Array.from({ length: 12 }, (_, at) => `a${at + 1}: &a${at + 1} [${`*a${at}, `.repeat(9)}]`),
  'jobs: {}',
].join('\n')

test.each<[what: string, manifest: string, mistake: string]>([
  [
    'aliases that grow without end',
    bomb,
    '1:1: There are more than 1000000 values in the file, with those that aliases repeat.',
  ],
  ['too many aliases', `version: 1\na: &a x\njobs: [${'*a, '.repeat(2000)}]`, '3:'],
  ['an alias of itself', 'version: 1\njobs: &a { b: *a }', '2:'],
  ['deep nesting', `version: 1\njobs: ${'['.repeat(5000)}`, '2:'],
  [
    'many megabytes',
    `version: 1\njobs: {}\n${'# much\n'.repeat(1_500_000)}`,
    '1:1: "modelgate.yaml" is too large: 10500020 bytes; the limit is 8388608 bytes.',
  ],
  ['nothing', '', '1:1: "modelgate.yaml" is empty.'],
  ['a comment', '# nothing\n', '1:1: the manifest must be a mapping.'],
  ['a list', '- version: 1\n', '1:1: the manifest must be a mapping.'],
  ['two documents', 'version: 1\n---\njobs: {}\n', '1:1: The file has more than one YAML document.'],
  ['a tag', 'version: !!js/function 1\njobs: {}\n', '1:'],
  ['a tab', 'version: 1\njobs:\n\ta: {}\n', '3:'],
])('%s is refused', async (_, manifest, mistake) => {
  const found = await mistakesIn(manifest)
  expect(found).toHaveLength(1)
  expect(found[0]).toContain(`modelgate.yaml:${mistake}`)
})

test('too many instances of all jobs are refused', async () => {
  const each = oneJob('each: data.csv', 'respond: { input: "${id}" }', 'out: "${id}.txt"')
  const manifest = each.replace('  hero:', '  first: { respond: { input: x }, out: x.txt }\n  hero:')
  const rows = Array.from({ length: 100_000 }, (_, at) => `row-${at}`).join('\n')
  expect(await mistakesIn(manifest, { 'data.csv': `id\n${rows}\n` })).toEqual([
    'modelgate.yaml:4:3: With this job there are more than 100000 instances.',
  ])
})
