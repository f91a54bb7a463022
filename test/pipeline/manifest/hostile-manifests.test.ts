import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { mistakesIn, oneJob } from './manifest-files.ts'

/** A line of every answer to a manifest that is wrong. */
const placed = /^(?:(?:modelgate\.yaml|data\.csv|prompt\.md):\d+:\d+: .+|… and \d+ more\.)$/

const files = { 'data.csv': 'id,name\na,b\n', 'prompt.md': 'A hill\n' }

test('no text ends in anything but mistakes with a place', async () => {
  const word = fc.constantFrom(
    'version: 1',
    'jobs:',
    'a:',
    'each: data.csv',
    'out: a.png',
    'respond:',
    'image create:',
    'input:',
    'prompt: x',
    'file: prompt.md',
    '${id}',
    '@a',
    '@a[${id}]',
    'image edit:',
    'image:',
    '- ',
    '&x ',
    '*x',
    '? ',
    '<<:',
    '!!str ',
    '{',
    '}',
    '[',
    ']',
    '"',
    "'",
    '|',
    '>',
    '#',
    '---',
    '...',
    '\t',
    '\ufeff',
    '\r\n',
    '\0',
    '\u2028',
    '0x7',
    '.inf',
    'constructor:',
    '__proto__:',
    'defaults:',
    'imports: [',
    'env: [A',
    'assert:',
    'matches: (',
    'schema: ',
  )
  const piece = fc.oneof(
    { weight: 5, arbitrary: word },
    { weight: 3, arbitrary: fc.constantFrom('\n', '\n  ', '\n    ', '\n      ', ' ') },
    fc.string({ maxLength: 8 }),
  )
  const text = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''))
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        text,
        text.map((rest) => `version: 1\njobs:\n  a:\n    ${rest}`),
      ),
      async (manifest) => {
        for (const line of await mistakesIn(manifest, files)) expect(line).toMatch(placed)
      },
    ),
    { numRuns: 300 },
  )
})

test('no bytes end in anything but mistakes with a place', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
      for (const line of await mistakesIn(bytes, files)) expect(line).toMatch(placed)
    }),
    { numRuns: 200 },
  )
})

test('no value in any place ends in anything but mistakes with a place', async () => {
  const value = fc.jsonValue({ maxDepth: 3, noUnicodeString: false })
  const name = fc.oneof(
    fc.constantFrom(
      'out',
      'each',
      'alt',
      'variants',
      'pick',
      'assert',
      'frozen',
      'on_unknown',
      'respond',
      'generate',
      'image create',
      'image edit',
      'video generate',
      'video remix',
      'prompt',
      'input',
      'model',
      'image',
      'schema',
      'source',
      'reference',
      'instances',
      'contents',
      'generation_config',
      'parameters',
      'text',
      'tools',
    ),
    fc.string({ maxLength: 5 }),
  )
  const tree = fc.letrec<{ value: unknown; mapping: object }>((tie) => ({
    value: fc.oneof({ depthSize: 'small' }, value, tie('mapping')),
    mapping: fc.dictionary(name, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  }))
  const manifest = fc.record(
    {
      version: fc.oneof(fc.constant(1), value),
      jobs: fc.oneof(
        fc.dictionary(fc.constantFrom('a', 'b'), tree.mapping, { noNullPrototype: true }),
        value,
      ),
      defaults: fc.oneof(tree.mapping, value),
      env: value,
      imports: value,
      lanes: value,
      budget: value,
    },
    { requiredKeys: ['version', 'jobs'] },
  )
  await fc.assert(
    fc.asyncProperty(manifest, async (content) => {
      for (const line of await mistakesIn(JSON.stringify(content), files)) expect(line).toMatch(placed)
    }),
    { numRuns: 300 },
  )
})

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

test('too many instances are refused', async () => {
  const rows = Array.from({ length: 100_001 }, (_, at) => `row-${at}`).join('\n')
  const manifest = oneJob('each: data.csv', 'respond: { input: "${id}" }', 'out: "${id}.txt"')
  expect(await mistakesIn(manifest, { 'data.csv': `id\n${rows}\n` })).toEqual([
    'data.csv:100002:1: There are more than 100000 rows.',
  ])
  const both = `${manifest}  next: { respond: { input: x }, out: x.txt }\n`
  const full = rows.slice(0, rows.lastIndexOf('\n'))
  expect(await mistakesIn(both, { 'data.csv': `id\n${full}\n` })).toEqual([
    'modelgate.yaml:7:3: With this job there are more than 100000 instances.',
  ])
})

test('the first 200 of many mistakes are told', async () => {
  const jobs = Array.from(
    { length: 300 },
    (_, at) => `  j${at}: { respond: { inptu: x, input: x }, out: ${at}.txt }`,
  )
  const found = await mistakesIn(['version: 1', 'jobs:', ...jobs].join('\n'))
  expect(found).toHaveLength(201)
  expect(found[0]).toBe('modelgate.yaml:3:20: "inptu" is not a field of respond; did you mean input?')
  expect(found.at(-1)).toBe('… and 100 more.')
})
