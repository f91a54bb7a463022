import { describe, expect, test } from 'vitest'
import type { Instance } from '../../../src/pipeline/manifest/manifest.ts'
import { checkOutputs } from '../../../src/pipeline/manifest/output-paths.ts'
import { instanceOf, textField } from '../../support/pipeline-task.ts'

const red = { prompt: textField('A red fox') }
const planned = (output: string, more: Partial<Instance> = {}): Instance =>
  instanceOf({
    id: more.job ?? 'a',
    job: 'a',
    command: 'image create',
    model: 'm',
    fields: red,
    output,
    ...more,
  })
const b = { id: 'b', job: 'b' }
function messagesOf(outputs: readonly Instance[], taken: Parameters<typeof checkOutputs>[1] = []) {
  const found: string[] = []
  checkOutputs(outputs, taken, ({ id }, message) => found.push(`${id}: ${message}`))
  return found
}

test.each([
  'assets/hero.webp',
  'a',
  'assets/{model}/{slug}-{index}.{ext}',
  'ünï/日本 x.png',
  '.hidden/x',
  'gitignore/.gitkeep',
])('takes %s', (output) => {
  expect(messagesOf([planned(output)])).toEqual([])
})

test.each([
  ['', 'is not the name of a file.'],
  ['-', 'is not the name of a file.'],
  ['/etc/x', "is an absolute path: outputs lie below the manifest's folder."],
  ['C:x.png', "is an absolute path: outputs lie below the manifest's folder."],
  ['../x.png', "leads out of a folder: outputs lie below the manifest's folder."],
  ['a/', 'is a folder: name a file.'],
  ['a\\x', 'has a backslash in it: write / on every system.'],
  ['a\nx', 'has a control character in it.'],
  ['a\u0085x', 'has a control character in it.'],
  ['a\ud800x', 'has a control character in it.'],
  ['a/x.', 'has a name that ends with a dot or a space, which Windows strips.'],
  ['a/b?.png', 'has one of < > : " | ? * in it, which Windows refuses.'],
  ['assets/nul.png', 'is a device on Windows.'],
  ['.git/hooks/post-checkout', 'lies in .git, which is not for outputs.'],
  ['sub/.GIT/config', 'lies in .GIT, which is not for outputs.'],
  ['git~1/config', 'lies in git~1, which is not for outputs.'],
  ['.g\u200cit/config', 'lies in .g\u200cit, which is not for outputs.'],
  ['.modelgate/store/x', 'lies in .modelgate, which is not for outputs.'],
  [
    '{what}.png',
    'has an unknown placeholder: {what}. Known are {index} {ext} {model} {date} {slug} {id}; {{ and }} are literal braces, and a column is ${name}.',
  ],
  ['{id}/x.png', "has {id}, which is known only after the request, in a folder's name."],
  [`${'x'.repeat(241)}`, 'has a name that is longer than 240 bytes.'],
  ['xy/'.repeat(400) + 'x', 'is longer than 1024 bytes.'],
])('refuses %j', (output, clause) => {
  expect(messagesOf([planned(output)])).toEqual([`a: ${JSON.stringify(output)} ${clause}`])
})

describe('two files in one place', () => {
  const differs = 'are one file on systems that ignore case or the form of Unicode.'
  test.each<[string, Instance, Instance, string]>([
    ['the same', planned('x.png'), planned('x.png', b), '"a" and "b" write one file: "x.png".'],
    ['case', planned('a/X.png'), planned('A/x.png', b), `"a/X.png" of "a" and "A/x.png" of "b" ${differs}`],
    ['Unicode', planned('\u00e9'), planned('e\u0301', b), `"\u00e9" of "a" and "e\u0301" of "b" ${differs}`],
    ['sharp s', planned('straße'), planned('STRASSE', b), `"straße" of "a" and "STRASSE" of "b" ${differs}`],
    [
      'index',
      planned('x-{index}.png', { count: 3 }),
      planned('x-2.png', b),
      '"a" and "b" write one file: "x-2.png".',
    ],
    ['extension', planned('x.{ext}'), planned('x.webp', b), '"a" and "b" write one file: "x.webp".'],
    [
      'slug',
      planned('{slug}.png'),
      planned('a-red-fox.png', b),
      '"a" and "b" write one file: "a-red-fox.png".',
    ],
    [
      'a folder',
      planned('x'),
      planned('x/y.png', b),
      '"x/y.png", an output of "b", lies in "x", an output of "a".',
    ],
    [
      'a folder, later',
      planned('X/z/y.png', b),
      planned('x'),
      '"X/z/y.png", an output of "b", lies in "x", an output of "a".',
    ],
  ])('%s', (_, first, second, message) => {
    const [found, ...others] = messagesOf([first, second])
    expect(others).toEqual([])
    expect(found).toBe(`b: ${message}`)
  })

  test.each([
    [planned('x.{ext}'), planned('x.json', b)],
    [planned('{id}.png'), planned('{id}.png', b)],
    [planned('{slug}.png', { fields: {} }), planned('{slug}.png', { ...b, fields: {} })],
    [planned('x'), planned('xy/z', b)],
  ])('not %j', (first, second) => {
    expect(messagesOf([first, second])).toEqual([])
  })
})

test('needs {index} for several files', () => {
  expect(messagesOf([planned('x.png', { count: 2 })])).toEqual([
    'a: "x.png" is one name for 2 files: put {index} into it.',
  ])
})

test('replaces no file of the project', () => {
  const taken = [
    { path: 'modelgate.yaml', what: 'the manifest' },
    { path: 'data/Products.csv', what: 'the rows of a' },
  ]
  expect(
    messagesOf(
      [planned('ModelGate.yaml'), planned('data/products.csv', b), planned('data', { id: 'c', job: 'c' })],
      taken,
    ),
  ).toEqual([
    'a: "ModelGate.yaml" is the manifest, which an output cannot replace; "@a" refers to an output.',
    'b: "data/products.csv" is the rows of a, which an output cannot replace; "@b" refers to an output.',
    'c: "data/Products.csv", the rows of a, lies in "data", an output of "c".',
  ])
})
