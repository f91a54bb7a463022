import { expect, test } from 'vitest'
import { rowsOf } from '../../../src/pipeline/manifest/rows.ts'
import { oneJob, read } from './manifest-files.ts'

/** What is wrong with the rows of a file, each as `LINE:COLUMN: message`. */
const problemsOf = (name: string, text: string) =>
  rowsOf(name, text).problems.map(({ line, column, message }) => `${line}:${column}: ${message}`)
const namesOf = (name: string, text: string) => [...rowsOf(name, text).rows.keys()]

test('reads quotes, commas, ends of lines and a byte-order mark, and the rows beside a mistake', () => {
  const text = '\ufeffid,name\r\nshoe,"Red, ""soft""\r\nshoe"\r\n\r\nhat,\r\n"",x'
  expect(rowsOf('data.csv', text)).toEqual({
    rows: new Map([
      ['shoe', { id: 'shoe', name: 'Red, "soft"\nshoe' }],
      ['hat', { id: 'hat', name: '' }],
    ]),
    problems: [{ line: 6, column: 1, message: 'The row has no `id`, which the others have.' }],
  })
})

test('reads values of JSON lines', () => {
  const { rows } = rowsOf('data.jsonl', '\ufeff{"id":"a","n":1.50,"is":true}\r\n\n{"id":7,"none":null}\n')
  expect([...rows]).toEqual([
    ['a', { id: 'a', n: 1.5, is: true }],
    ['7', { id: 7, none: null }],
  ])
})

test('reads a JSON array, also the only one in an object', () => {
  const array = '[{"id": "a", "tags": ["x"], "n": 1}, {"id": "b", "of": {"k": [1]}}]'
  const rows = new Map([
    ['a', { id: 'a', tags: ['x'], n: 1 }],
    ['b', { id: 'b', of: { k: [1] } }],
  ])
  expect(rowsOf('data.JSON', array)).toEqual({ rows, problems: [] })
  expect(rowsOf('data.JSON', `{"version": 1, "scenes": ${array}}`)).toEqual({ rows, problems: [] })
  expect(rowsOf('data.JSON', '[]')).toEqual({ rows: new Map(), problems: [] })
})

test('takes a digest of the values where there is no id, wherever row and column are', async () => {
  const [red, blue] = namesOf('data.csv', 'name,size\nRed,1\nBlue,2\n')
  expect(red).toBe('482b0537e167d492')
  expect(namesOf('data.csv', 'size,name\n2,Blue\n1,Red\n')).toEqual([blue, red])
  expect(namesOf('data.jsonl', '{"size":1,"name":"Red"}\n')).toEqual([red])
  const list = oneJob('each: [{ size: 1, name: Red }]', 'respond: { input: x }', 'out: "${name}"')
  expect([...(await read(list)).instances.keys()]).toEqual([`hero[${red}]`])
})

const noArray = '1:1: The file is neither a JSON array nor an object with exactly one array in it.'
const tooLong = 'The row has 3 values, but the header 2 columns; a value with a comma needs quotes.'

test.each<[file: string, text: string, ...problems: string[]]>([
  ['csv', '', '1:1: The file is empty: its first line has to name the columns.'],
  ['csv', 'a,b,a\n1,2,3', '1:1: The column "a" appears twice.'],
  ['csv', 'a,,c\n1,2,3', '1:1: Column 2 has no name.'],
  ['csv', 'id;name\n1;2', '1:1: The columns are separated by semicolons or tabs; use commas.'],
  [
    'csv',
    'a,id\n1\n"x\ny",2\n3,4,5\n',
    '2:1: The row has 1 value, but the header 2 columns.',
    `5:1: ${tooLong}`,
  ],
  ['csv', 'a,b\n\n😀,"x\ny', '3:1: The quote is never closed.'],
  ['csv', 'a\n"1"x', '2:1: Text follows the closing quote; a quote in a value is written twice: "".'],
  [
    'csv',
    'a\n5" nail',
    '2:1: A value with a quote in it has to be in quotes, with the quote written twice: "".',
  ],
  ['csv', 'id\na\nb\na\n', '4:1: The id "a" is taken by line 2.'],
  ['csv', 'id\n\u00e9\ne\u0301\n', '3:1: The id "\u00e9" is taken by line 2.'],
  [
    'csv',
    'a,b\n1,2\n1,2\n',
    '3:1: The row is the same as that of line 2; give each a column `id`, or leave one out.',
  ],
  ['jsonl', '{"a":1}\n{"a":\n', '2:6: The line is not valid JSON: expected a value near `{"a":`.'],
  ['jsonl', '["a"]\n', '1:1: The line is not a JSON object.'],
  ['jsonl', '{"id":"a"}\n{"b":"b"}\n', '2:1: The row has no `id`, which the others have.'],
  [
    'json',
    '[\n  {"id": "a"},\n  {"id": "b"},,\n]',
    '3:15: The file is not valid JSON: expected a value near `{"id": "b"},,`.',
  ],
  ['json', '{"a": 1}', noArray],
  ['json', '{"a": [], "b": []}', noArray],
  ['json', '"text"', noArray],
  ['json', '[\n  {"id": "a, b"},\n  "c"\n]', '3:3: The element is not a JSON object.'],
  ['json', '[{"id": "a"},\n {"id": "\\"}"}, {"id": "a"}]', '2:17: The id "a" is taken by element 1.'],
  [
    'json',
    '{"of": {"l": [1, 2]}, "rows": [{"id": "a"},\n   {"n": 1}]}',
    '2:4: The element has no `id`, which the others have.',
  ],
])('tells every mistake in %s %j, and where', (ending, text, ...problems) => {
  expect(problemsOf(`data.${ending}`, text)).toEqual(problems)
})

test('reads no more than 100,000 rows', () => {
  const rows = Array.from({ length: 100_001 }, (_, at) => `row-${at}\n`)
  expect(problemsOf('data.csv', `id\n${rows.join('')}`)).toEqual([
    '100002:1: There are more than 100000 rows.',
  ])
})

test.each([' b', '__proto__', 'env:A', 'a}', 'a\rb'])('refuses a column named %j', (name) => {
  const problem = `1:1: A column cannot be named ${JSON.stringify(name)}: a name has no braces or control characters, no space at its ends, and does not begin with env: or var:.`
  expect(problemsOf('data.csv', `c,${name}\n`)).toEqual([problem])
  expect(problemsOf('data.jsonl', JSON.stringify({ c: 1, [name]: 1 }))).toEqual([problem])
})

test.each(['a]', 'a\u0007', 'a\u202eb', 'a ', 'a'.repeat(121)])('refuses the id %j', (id) => {
  const shown = JSON.stringify(id.length > 120 ? `${'a'.repeat(120)}…` : id)
  expect(problemsOf('data.csv', `id\n${id}\n`)).toEqual([
    `2:1: The id ${shown} cannot be one: it has at most 120 characters, no brackets or control characters, and no space at its ends.`,
  ])
})
