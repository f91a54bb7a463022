import { describe, expect, test } from 'vitest'
import { keysOf, type KeyInputs } from '../../../src/pipeline/plan/instance-key.ts'
import type { FieldValue, Instance, Reference } from '../../../src/pipeline/manifest/manifest.ts'
import { instanceOf, textField, valueField } from '../../support/pipeline-task.ts'

const digest = (digit: string) => digit.repeat(64)

const base = instanceOf({ id: 'hero', job: 'hero', command: 'image create' })

const file = (path: string, role: string | null = null) => ({ source: { path }, role })
const files = (...list: Extract<FieldValue, { kind: 'files' }>['files']): FieldValue => ({
  kind: 'files',
  files: list,
})
const reference = (instance: string, candidate: number | null = null): Reference => ({
  text: candidate === null ? `@${instance}` : `@${instance}#${candidate}`,
  instance,
  candidate,
})

/** Every file `x.png` has the digest xxx…; the upstream results are what they are given as. */
function inputs(upstream: Readonly<Record<string, readonly string[]>> = {}): KeyInputs {
  return {
    fileDigest: (path) => Promise.resolve(digest(path[0]!)),
    upstream: ({ text: name }) => upstream[name]?.map((sha256) => ({ sha256 })),
  }
}

async function keyOf(
  fields: Instance['fields'],
  changes: Partial<Instance> = {},
  gateway: string | null = null,
) {
  const found = await keysOf({ ...base, ...changes, fields }, gateway, inputs())
  return found!.keys[0]!
}

test('the id of a distinct instance enters its key, and that of another does not', async () => {
  const fields = { prompt: textField('A dog'), model: valueField('gpt-image-2') }
  expect(await keyOf(fields, { id: 'photos[a]', isDistinct: true })).toBe(
    'ced50ddef53ce8f816b6ff1a5ed9a90c8c50e6f6a342ba4a62971c7b4789e9ed',
  )
  expect(await keyOf(fields, { id: 'photos[a]' })).toBe(await keyOf(fields, { id: 'photos[b]' }))
})

// Made by another program: sha256 of the JSON that the design describes. Another key makes every result of users stale.
describe('golden keys', () => {
  test.each<[Instance['command'], Instance['fields'], string | null, string]>([
    [
      'generate',
      {
        prompt: textField('Say hello'),
        model: valueField('gemini-3-flash'),
        temperature: valueField(0.5),
        attach: files(file('a.png')),
      },
      null,
      '8b80967cabb54be6f222fd9f5a0f7758d959ddec94566c2652c11395b4b878a8',
    ],
    [
      'respond',
      {
        schema: valueField({ type: 'object', properties: { b: {}, a: {} } }),
        instructions: textField('In German'),
        input: textField('Say hello'),
        model: valueField('gpt-5.4'),
      },
      null,
      '80a41df0437ac0c5a978a3d442e442b8d6fed2cebba6ce1769d45268a01cf75c',
    ],
    [
      'image create',
      {
        prompt: textField('A dog'),
        model: valueField('gpt-image-2'),
        size: valueField('1536x1024'),
        n: valueField(2),
      },
      null,
      'c84909d01ccf5c3d2ec01cc2217c4a761f7d3b8250f120edfc637675fcc26406',
    ],
    [
      'image edit',
      { prompt: textField('A dog'), image: files(file('a.png'), file('b.png')), mask: files(file('c.png')) },
      null,
      '28ac839e9aa05907b100c8cbb847fc44a66f588967efb073e96082b985953842',
    ],
    [
      'video generate',
      {
        prompt: textField('A dog'),
        model: valueField('veo-3.1'),
        seconds: valueField(8),
        reference: files(file('a.png', 'style')),
      },
      null,
      '43a7d93eb455deff2306d3e36a66fe5b539ab9de341fd6fc39d39d4827a0ba83',
    ],
    [
      'video remix',
      { prompt: textField('A dog'), source: valueField('video_123') },
      'studio',
      '72d3118f723cd48317eeb8f5b889be8a6a06e56a58830f486da38b2ebacba03c',
    ],
  ])('%s', async (command, fields, gateway, key) => {
    expect(await keyOf(fields, { command }, gateway)).toBe(key)
  })

  test('short digests of the fields', async () => {
    const fields = { prompt: textField('A dog'), source: valueField('video_123') }
    const found = await keysOf({ ...base, command: 'video remix', fields }, 'studio', inputs())
    expect(found!.fields).toEqual({
      $command: '136f33ad50b3',
      $gateway: '6610e8fc04cf',
      prompt: '5a5e6df20e07',
      source: 'e2fc7e7aaaf9',
    })
  })
})

const fields: Instance['fields'] = {
  prompt: textField('A dog'),
  model: valueField('gpt-image-2'),
  size: valueField('1024x1024'),
  image: files(file('a.png'), file('b.png', 'style')),
}

test('the key depends on nothing but what determines the result', async () => {
  const key = await keyOf(fields)
  const changes: Partial<Instance>[] = [
    { id: 'other[row]', job: 'other' },
    { output: 'elsewhere.png' },
    { alt: 'A dog' },
    { asserts: { width: 1024, not_duplicate: true } },
    { variants: 4 },
    { pick: 1 },
    { isFrozen: true },
    { onUnknown: 'retry' },
    { at: { file: 'other.yaml', line: 9, column: 9 } },
    { lane: 'video', model: null, count: 2, references: [reference('a')] },
  ]
  for (const change of changes) expect(await keyOf(fields, change)).toBe(key)
  const reversed = Object.fromEntries(Object.entries(fields).toReversed())
  expect(await keyOf(reversed)).toBe(key)
})

test.each<[string, Instance['fields']]>([
  ['a text', { prompt: textField('A cat') }],
  ['a value', { size: valueField('1024x1025') }],
  ['the type of a value', { size: valueField(1) }],
  ['the bytes of a file', { image: files(file('c.png'), file('b.png', 'style')) }],
  ['the order of files', { image: files(file('b.png', 'style'), file('a.png')) }],
  ['the role of a file', { image: files(file('a.png'), file('b.png')) }],
  ['another file', { image: files(file('a.png'), file('b.png', 'style'), file('c.png')) }],
  ['another field', { quality: valueField('high') }],
  ['a value like a text', { prompt: valueField('A dog') }],
])('%s changes the key, and the digest of its field alone', async (_, change) => {
  const before = await keysOf({ ...base, fields }, null, inputs())
  const after = await keysOf({ ...base, fields: { ...fields, ...change } }, null, inputs())
  expect(after!.keys[0]).not.toBe(before!.keys[0])
  const names = Object.keys({ ...before!.fields, ...after!.fields })
  expect(names.filter((name) => before!.fields[name] !== after!.fields[name])).toEqual(Object.keys(change))
})

test('a text has one digest, wherever it comes from and however its lines end', async () => {
  const upstream = '2fcfb7830c3bb1c40b0a64f0549acc4c661f7f9f8c39d3b8ecaaf51313670f68'
  const written = await keyOf({ prompt: textField('One\nTwo\n') })
  expect(await keyOf({ prompt: textField('\ufeffOne\r\nTwo\r\n') })).toBe(written)
  expect(
    await keyOf({ prompt: { kind: 'text', text: 'One\nTwo\n', source: { path: 'prompts/a.md' } } }),
  ).toBe(written)
  const made = await keysOf(
    { ...base, fields: { prompt: { kind: 'text', text: null, source: { reference: reference('copy') } } } },
    null,
    inputs({ '@copy': [upstream] }),
  )
  expect(made!.keys[0]).toBe(written)
  expect(await keyOf({ prompt: textField('One\rTwo\n') })).not.toBe(
    await keyOf({ prompt: textField('One\nTwo\n') }),
  )
})

describe('references', () => {
  const keys = async (field: FieldValue, upstream: Readonly<Record<string, readonly string[]>>) =>
    (await keysOf({ ...base, fields: { image: field } }, null, inputs(upstream)))?.keys[0]
  const to = (...sources: Reference[]): FieldValue =>
    files(...sources.map((source) => ({ source: { reference: source }, role: null })))

  test('stand for the bytes of all their outputs, in their places', async () => {
    const upstream = { '@hero': [digest('a')], '@hero#2': [digest('b')], '@both': [digest('a'), digest('b')] }
    expect(await keys(to(reference('hero')), upstream)).toBe(await keys(files(file('a.png')), {}))
    expect(await keys(to(reference('hero', 2)), upstream)).toBe(await keys(files(file('b.png')), {}))
    expect(await keys(to(reference('both')), upstream)).toBe(
      await keys(files(file('a.png'), file('b.png')), {}),
    )
  })
})

test('a text without a form in UTF-8 is refused', async () => {
  await expect(keyOf({ prompt: textField('A \ud83d') })).rejects.toMatchObject({
    code: 'wrong_type',
    exit: 'usage',
    message: 'A text is not valid Unicode: after "A " there is half of a surrogate pair.',
  })
})
