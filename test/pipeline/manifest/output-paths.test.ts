import { expect, test } from 'vitest'
import type { Instance } from '../../../src/pipeline/manifest/manifest.ts'
import { checkOutputs } from '../../../src/pipeline/manifest/output-paths.ts'
import { instanceOf, textField } from '../../support/pipeline-task.ts'

/** What is wrong with the outputs of the jobs `a`, `b` and so on, each with the job that it is told of. */
function messagesOf(
  outputs: readonly string[],
  changes: Partial<Instance> = {},
  taken: Parameters<typeof checkOutputs>[1] = [],
) {
  const found: string[] = []
  const instances = outputs.map((output, at) =>
    instanceOf({
      id: 'abc'[at]!,
      job: 'abc'[at]!,
      command: 'image create',
      fields: { prompt: textField('A red fox') },
      count: output.includes('{index}') ? 3 : 1,
      output,
      ...changes,
    }),
  )
  checkOutputs(instances, taken, ({ id }, message) => found.push(`${id}: ${message}`))
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
  expect(messagesOf([output])).toEqual([])
})

test.each([
  ['', 'is not the name of a file.'],
  ['-', 'is not the name of a file.'],
  ['/etc/x', "is an absolute path: outputs must be below the manifest's folder."],
  ['C:x.png', "is an absolute path: outputs must be below the manifest's folder."],
  ['../x.png', "leads out of a folder: outputs must be below the manifest's folder."],
  ['a/', 'is a folder: name a file.'],
  ['a\\x', 'has a backslash in it: write / on every system.'],
  ['a\nx', 'has a control character in it.'],
  ['a\u0085x', 'has a control character in it.'],
  ['a\ud800x', 'has a control character in it.'],
  ['a/x.', 'has a name that ends with a dot or a space, which Windows strips.'],
  ['a/b?.png', 'has one of < > : " | ? * in it, which Windows refuses.'],
  ['assets/nul.png', 'is a device on Windows.'],
  ['.git/hooks/post-checkout', 'is in .git, which is not for outputs.'],
  ['sub/.GIT/config', 'is in .GIT, which is not for outputs.'],
  ['git~1/config', 'is in git~1, which is not for outputs.'],
  ['.g\u200cit/config', 'is in .g\u200cit, which is not for outputs.'],
  ['.modelgate/store/x', 'is in .modelgate, which is not for outputs.'],
  [
    '{what}.png',
    'has an unknown placeholder: {what}. Known are {index} {ext} {model} {date} {slug} {id}; {{ and }} are literal braces, and a column is ${name}.',
  ],
  ['{id}/x.png', "has {id}, which is known only after the request, in a folder's name."],
  [`${'x'.repeat(241)}`, 'has a name that is longer than 240 bytes.'],
  ['xy/'.repeat(400) + 'x', 'is longer than 1024 bytes.'],
])('refuses %j', (output, clause) => {
  expect(messagesOf([output])).toEqual([`a: ${JSON.stringify(output)} ${clause}`])
})

const differs = 'are one file on systems that ignore case or the form of Unicode.'

test.each<[first: string, second: string, ...messages: string[]]>([
  ['x.png', 'x.png', 'b: "a" and "b" write one file: "x.png".'],
  ['a/X.png', 'A/x.png', `b: "a/X.png" of "a" and "A/x.png" of "b" ${differs}`],
  ['\u00e9', 'e\u0301', `b: "\u00e9" of "a" and "e\u0301" of "b" ${differs}`],
  ['straße', 'STRASSE', `b: "straße" of "a" and "STRASSE" of "b" ${differs}`],
  ['x-{index}.png', 'x-2.png', 'b: "a" and "b" write one file: "x-2.png".'],
  ['x.{ext}', 'x.webp', 'b: "a" and "b" write one file: "x.webp".'],
  ['{slug}.png', 'a-red-fox.png', 'b: "a" and "b" write one file: "a-red-fox.png".'],
  ['x', 'x/y.png', 'b: "x/y.png", an output of "b", is in "x", an output of "a".'],
  ['X/z/y.png', 'x', 'a: "X/z/y.png", an output of "a", is in "x", an output of "b".'],
  ['x.{ext}', 'x.json'],
  ['{id}.png', '{id}.png'],
  ['x', 'xy/z'],
])('one job writes %s, another one %s', (first, second, ...messages) => {
  expect(messagesOf([first, second])).toEqual(messages)
})

test('without a prompt {slug} is not known', () => {
  expect(messagesOf(['{slug}.png', '{slug}.png'], { fields: {} })).toEqual([])
})

test('replaces no file of the project', () => {
  const taken = [
    { path: 'modelgate.yaml', what: 'the manifest' },
    { path: 'data/Products.csv', what: 'the rows of a' },
  ]
  expect(messagesOf(['ModelGate.yaml', 'data/products.csv', 'data'], {}, taken)).toEqual([
    'a: "ModelGate.yaml" is the manifest, which an output cannot replace; "@a" refers to an output.',
    'b: "data/products.csv" is the rows of a, which an output cannot replace; "@b" refers to an output.',
    'c: "data/Products.csv", the rows of a, is in "data", an output of "c".',
  ])
})
