import { expect, test } from 'vitest'
import { pngBytes } from '../../support/image-bytes.ts'
import { mistakesIn, oneJob, read } from './manifest-files.ts'

const image = 'image create: { model: gpt-image-2, prompt: x }'

test('every mistake is told at once, in the order of the text', async () => {
  const manifest = `version: 2
enf: [BRAND]
budget: { creates: -1, costs: 5 }
defaults:
  image creat: { model: gpt-image-2 }
  image edit: { modle: gpt-image-2 }
jobs:
  hero:
    image create: { promt: hi, n: 20, model: gpt-image-2 }
    out: ../x.png
`
  expect(await mistakesIn(manifest)).toEqual([
    'modelgate.yaml:1:10: version must be 1, not 2.',
    'modelgate.yaml:2:1: "enf" is not a field of the manifest; did you mean env?',
    'modelgate.yaml:3:20: creates must be at least 0, not -1.',
    'modelgate.yaml:3:24: "costs" is not a field of budget; did you mean cost?',
    'modelgate.yaml:5:3: "image creat" is not a field of defaults; did you mean image create?',
    'modelgate.yaml:6:17: "modle" is not a field of image edit; did you mean model?',
    'modelgate.yaml:9:5: prompt is missing: what to draw.',
    'modelgate.yaml:9:21: "promt" is not a field of image create; did you mean prompt?',
    'modelgate.yaml:9:35: n must be from 1 to 10, not 20.',
    'modelgate.yaml:10:10: "../x.png" is one name for 20 files: put {index} into it.',
  ])
})

test('of each file the first ten mistakes are told, then how many more there are', async () => {
  const jobs = Array.from({ length: 25 }, (_, at) => `  j${at}: { each: data.csv, respond: { inptu: x } }`)
  const rows = 'a,b\n'.repeat(12)
  const found = await mistakesIn(['version: 1', 'jobs:', ...jobs].join('\n'), { 'data.csv': `id\n${rows}` })
  const row = 'The row has 2 values, but the header 1 columns; a value with a comma needs quotes.'
  expect([...found.slice(0, 3), ...found.slice(10, 12), found.length, ...found.slice(20)]).toEqual([
    'modelgate.yaml:3:7: out is missing.',
    'modelgate.yaml:3:25: input is missing: what to ask.',
    'modelgate.yaml:3:36: "inptu" is not a field of respond; did you mean input?',
    'modelgate.yaml: … and 65 more.',
    `data.csv:2:1: ${row}`,
    22,
    `data.csv:11:1: ${row}`,
    'data.csv: … and 2 more.',
  ])
})

test.each<[job: string, ...mistakes: string[]]>([
  ['out: a.png', '3:3: the job hero has no command.'],
  [`${image}, respond: { input: x }, out: a.png`, '3:60: A job has one command, and image create is one'],
  ['image create: { prompt: x, variants: 3 }, out: a.png', '3:38: "variants" belongs to the job, beside'],
  [`${image}, out: a.mp4`, '3:65: out names video/mp4, but image create makes images.'],
  [`${image}, out: a.webp`, '3:65: out names image/webp, but gpt-image-2 delivers png: set output_format'],
  [
    'image create: { prompt: x, output_format: jpeg }, out: a.png',
    '3:66: out names image/png, but output_format is "jpeg".',
  ],
  ['generate: { prompt: x }, out: a.txt', '3:11: model is missing: '],
  ['generate: { prompt: x, model: "a/../b" }, out: a.txt', '3:41: model "a/../b" '],
  [
    'generate: { model: m, prompt: x, schema: s.json, response_schema: {} }, out: a.txt',
    '3:77: schema and response_schema cannot be used together.',
  ],
  ['respond: { input: x, background: true }, out: a.txt', '3:32: background is not for a manifest. It says'],
  ['generate: { model: m, prompt: x, candidate_count: 2 }, out: a.txt', '3:44: candidate_count is not for'],
  [
    `${image}, out: a.png, assert: { min_chars: 3, widht: 5, height: 0.5, schema: s.json }`,
    '3:82: min_chars is not for images, which image create makes.',
    '3:96: "widht" is not a field of assert; did you mean width?',
    '3:114: height must be a whole number, not 0.5.',
    '3:119: schema is not for images, which image create makes.',
  ],
  [
    'respond: { input: x }, out: a.txt, assert: { matches: "(" }',
    '3:65: matches is not a regular expression',
  ],
  [`${image}, out: a.png, pick: 3, variants: 2`, '3:78: pick is 3, but variants is 2.'],
  [`${image}, out: a.png, on_unknown: again`, '3:84: on_unknown must be one of stop, retry, not "again".'],
  ['image create: { prompt: " " }, out: a.png', '3:35: prompt is empty.'],
  [`${image}, out: a.png, out: b.png`, '3:72: "out" appears twice.'],
  [`${image}, out: a.png, __proto__: 1`, '3:72: "__proto__" is not allowed as a name.'],
  [`<<: { a: b }, ${image}, out: a.png`, '3:11: Merge keys (<<) are not read; what jobs have in common'],
  ['respond: { input: x, schema: { type: object } }, out: a.json', '3:40: schema takes the path of a JSON'],
  ['image create: { prompt: "\\ud800" }, out: a.png', '3:35: The text contains half of a surrogate pair.'],
  [
    'image create: { prompt: x, n: .nan }, out: a.png',
    '3:41: The number has no finite value.',
    '3:41: n must be ',
  ],
])('{ %s }', async (job, ...mistakes) => {
  const manifest = `version: 1\njobs:\n  hero: { ${job} }\n`
  const found = await mistakesIn(manifest, { 'a.png': pngBytes(), 's.json': '{}' })
  expect(found).toEqual(mistakes.map((text) => expect.stringContaining(`modelgate.yaml:${text}`)))
})

test.each(['Hero', '-a'])('a job cannot be named %s', async (name) => {
  const [found] = await mistakesIn(`version: 1\njobs: { ${name}: { ${image}, out: a.png } }\n`)
  expect(found).toContain(`modelgate.yaml:2:9: "${name}" cannot be the name of a job: `)
})

test.each<[what: string, field: string, mistake: string]>([
  ['a URL', 'https://example.com/a.png', 'is a URL: download the file'],
  ['an absolute path', '/tmp/a.png', "must be relative to the manifest's folder"],
  ['a path of Windows', 'C:\\a.png', "must be relative to the manifest's folder"],
  ['a backslash', 'masks\\a.png', 'has a backslash in it'],
  ['a file that is not there', 'b.png', '"b.png" cannot be read: it does not exist.'],
  ['a folder', 'masks', '"masks" cannot be read: it is a folder.'],
  ['an empty file', 'empty.png', '"empty.png" is empty.'],
  ['a text', 'a.txt', '"a.txt" is not a picture but text/plain.'],
  ['a Git LFS pointer', 'lfs.png', '"lfs.png" is a Git LFS pointer in place of the file: fetch it with git'],
  ['a misspelt reference', '@Hero', '"@Hero" is not a reference'],
  ['no such job', '@heero', 'There is no job heero for "@heero"; did you mean @hero?'],
  ['a text that another job makes', '@words', '"@words" is a text; expected an image.'],
  ['a row of a job without rows', '@hero[1]', 'the job hero has no rows, so it is just @hero.'],
  ['a job with rows', '@photos', 'the job photos has one result per row; name one, such as @photos[ID].'],
  ['a row that is not there', '@photos[shoo]', 'the job photos has no row shoo; did you mean @photos[shoe]?'],
  ['a candidate that is not there', '@hero#3', 'the job hero has 2 candidates.'],
  ['of another manifest', '@canon/hero', 'A file of another project is named by its path.'],
  ['several files', '@several', '"@several" is 2 files; mask takes one.'],
  ['itself', '@edited', 'The job depends on itself: @edited needs @edited.'],
])('a mask cannot be %s', async (_, field, mistake) => {
  const manifest = `version: 1
jobs:
  hero: { image create: { prompt: x }, variants: 2, out: hero.png }
  several: { image create: { prompt: x, n: 2 }, out: "s-{index}.png" }
  words: { respond: { input: x }, out: words.txt }
  photos: { each: [shoe, hat], image create: { prompt: "\${id}" }, out: "p/\${id}.png" }
  edited:
    image edit: { prompt: x, image: a.png, mask: ${JSON.stringify(field)} }
    out: edited.png
`
  const found = await mistakesIn(manifest, {
    'a.png': pngBytes(),
    'masks/a.png': pngBytes(),
    'empty.png': '',
    'a.txt': 'text',
    'lfs.png': 'version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 5\n',
  })
  expect(found).toHaveLength(1)
  expect(found[0]).toMatch(/^modelgate\.yaml:(?:8:50|7:3): /)
  expect(found[0]).toContain(mistake)
})

const conflict = '<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\n'
const noCharacter = 'is not UTF-8: the byte 0xfc begins no character.'
const unmerged = 'has conflict markers of a merge: resolve them first.'

test.each<[file: string, content: string | Buffer, place: string, mistake: string]>([
  ['prompt.md', Buffer.from('green\nbl\xfce', 'latin1'), '2:3', noCharacter],
  ['modelgate.yaml', Buffer.from('version: 1\n# \xfc', 'latin1'), '2:3', noCharacter],
  ['modelgate.yaml', Buffer.from('\ufeffversion: 1', 'utf16le'), '1:1', 'is UTF-16: save it as UTF-8.'],
  ['data.csv', `id\n${conflict}`, '2:1', unmerged],
  ['prompt.md', `Say\n\n${conflict}`, '3:1', unmerged],
  ['modelgate.yaml', `version: 1\n${conflict}`, '2:1', unmerged],
])(
  'what is no UTF-8, or not merged, is named with its line: %s with %j',
  async (file, content, place, mistake) => {
    const usual = oneJob('each: data.csv', 'respond: { input: { file: prompt.md } }', 'out: "${id}.txt"')
    const manifest = file === 'modelgate.yaml' ? content : usual
    const found = await mistakesIn(manifest, { 'data.csv': 'id\na\n', 'prompt.md': 'Say', [file]: content })
    expect(found).toEqual([`${file}:${place}: "${file}" ${mistake}`])
  },
)

test.each<[each: string, fields: string, out: string, ...mistakes: string[]]>([
  [
    '[a, b, c, d, e]',
    'prompt: "${id}"',
    'x.png',
    '6:10: "hero[a]" and "hero[b]" write one file: "x.png". Put a column into `out`, such as ${id}. (hero[b] and 3 more)',
  ],
  [
    '[a, b, c]',
    'prompt: x, n: "${id}"',
    '"${id}.png"',
    '5:35: n must be a whole number, not "a". (hero[a] and 2 more)',
  ],
  [
    '[a, b]',
    'prompt: "${x1} ${x2}"',
    '"${id}.png"',
    '5:29: `${x1}` is not a column of the row: there are id. (hero[a] and 1 more)',
    '5:29: `${x2}` is not a column of the row: there are id. (hero[a] and 1 more)',
  ],
])('a mistake of the rows %s is told once: { %s }, out: %s', async (each, fields, out, ...mistakes) => {
  const manifest = oneJob(`each: ${each}`, `image create: { ${fields} }`, `out: ${out}`)
  expect(await mistakesIn(manifest)).toEqual(mistakes.map((text) => `modelgate.yaml:${text}`))
})

test('a model of the configuration has the limits of its family', async () => {
  const manifest = oneJob('image create: { model: ours, prompt: x, quality: low }', 'out: a.png')
  const endpoints = { 'image create': { quality: { values: ['fast'] } } } as const
  const ours = { id: 'ours', kind: 'image', about: '', endpoints } as const
  expect(await mistakesIn(manifest)).toEqual([])
  expect(await mistakesIn(manifest, {}, { families: { ours } })).toEqual([
    'modelgate.yaml:4:54: quality must be one of fast for ours, not "low".',
  ])
})

test('a secret is refused at its place, also in a file that is sent, and never shown', async () => {
  const key = 'sandbox-key-0123456789'
  const manifest = `version: 1
env: [TOKEN, MODELGATE_API_KEY]
jobs:
  a:
    image create: { prompt: "use ${key}", quality: sk-abcdefghijklmnopqrst01234, n: "AIzaabcdefghijklmnopqrstuvwxyz012345678" }
    out: a.png
    alt: \${env:TOKEN}
  b: { image create: { prompt: { file: b.md } }, out: b.png }
  c: { respond: { input: x, attach: notes.txt, schema: shape.json }, out: c.json }
  d: { respond: { input: x }, assert: { schema: shape.json }, out: d.json }
`
  const files = {
    'b.md': '-----BEGIN RSA PRIVATE KEY-----\n',
    'notes.txt': `Use ${key}.`,
    'shape.json': JSON.stringify({ description: key }),
  }
  const env = { MODELGATE_API_KEY: key, TOKEN: `x${key}` }
  expect(await mistakesIn(manifest, files, { env })).toEqual([
    'modelgate.yaml:2:14: "MODELGATE_API_KEY" is the key to the gateway, not a value.',
    'modelgate.yaml:5:29: A manifest must not hold a secret, and here is the key to the gateway.',
    'modelgate.yaml:5:68: A manifest must not hold a secret, and here is a key (sk-…).',
    'modelgate.yaml:5:101: A manifest must not hold a secret, and here is a key (AIza…).',
    'modelgate.yaml:7:10: alt has the key to the gateway in it.',
    'modelgate.yaml:8:40: "b.md" has a private key in it.',
    'modelgate.yaml:9:37: "notes.txt" has the key to the gateway in it.',
    'modelgate.yaml:9:56: "shape.json" has the key to the gateway in it.',
    'modelgate.yaml:10:49: "shape.json" has the key to the gateway in it.',
  ])
})

test('warnings are no mistakes', async () => {
  const manifest = `version: 1
jobs:
  a: { image create: { model: gpt-imag-2, prompt: x }, out: a.png }
  b: { respond: { input: x, temperature: 1, top_p: 1 }, out: b.txt }
  c: { respond: { input: "@prompts/c.md" }, out: c.txt }
`
  expect((await read(manifest)).warnings).toEqual([
    'The model "gpt-imag-2" is unknown here; did you mean gpt-image-2? It is sent unchanged.',
    'b: adjust temperature or top_p, not both.',
    'c: input is sent as @prompts/c.md; { file: … } takes the text of a file or of a job.',
  ])
})

test('a mistake in a default names a job that has it', async () => {
  const manifest = `version: 1
defaults:
  image create: { model: dall-e-3, quality: low, prompt: "\${name}" }
jobs:
  a: { image create: {}, out: a.png }
  b: { image create: { prompt: x }, out: b.png }
  c: { image create: { prompt: x, quality: hd }, out: c.png }
`
  expect(await mistakesIn(manifest)).toEqual([
    'modelgate.yaml:3:45: quality must be one of auto, hd, standard for dall-e-3 (image-model-c), not "low". (a and 1 more)',
    'modelgate.yaml:3:58: `${name}` names a column, but the job has no `each`. For a literal `${` write `$${`.',
  ])
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

test('too many instances of all jobs are refused', async () => {
  const each = oneJob('each: data.csv', 'respond: { input: "${id}" }', 'out: "${id}.txt"')
  const manifest = each.replace('  hero:', '  first: { respond: { input: x }, out: x.txt }\n  hero:')
  const rows = Array.from({ length: 100_000 }, (_, at) => `row-${at}`).join('\n')
  expect(await mistakesIn(manifest, { 'data.csv': `id\n${rows}\n` })).toEqual([
    'modelgate.yaml:4:3: With this job there are more than 100000 instances.',
  ])
})
