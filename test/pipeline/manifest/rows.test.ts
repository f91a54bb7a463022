import { expect, test } from 'vitest'
import { rowsOf } from '../../../src/pipeline/manifest/rows.ts'
import { oneJob, read } from './manifest-files.ts'

const rowsOfCsv = (text: string) => rowsOf('data.csv', text)
const rowsOfJson = (text: string) => rowsOf('data.JSON', text)
const rowsOfJsonLines = (text: string) => rowsOf('data.jsonl', text)

test('reads quotes, commas, ends of lines and a byte-order mark', () => {
  const text = '\ufeffid,name\r\nshoe,"Red, ""soft""\r\nshoe"\r\n\r\nhat,\r\n"",x'
  expect(rowsOfCsv(text)).toEqual({
    rows: new Map([
      ['shoe', { id: 'shoe', name: 'Red, "soft"\nshoe' }],
      ['hat', { id: 'hat', name: '' }],
    ]),
    problems: [{ line: 6, column: 1, message: 'The row has no `id`, which the others have.' }],
  })
})

test.each([
  ['an empty file', '', [1, 1, 'The file is empty: its first line has to name the columns.']],
  ['a column twice', 'a,b,a\n1,2,3', [1, 1, 'The column "a" is there twice.']],
  ['a column without name', 'a,,c\n1,2,3', [1, 1, 'Column 2 has no name.']],
  ['semicolons', 'id;name\n1;2', [1, 1, 'The columns are separated by semicolons or tabs; use commas.']],
  [
    'a row that is too long',
    'a,b\n1,2\n1,2,3',
    [3, 1, 'The row has 3 values, but the header 2 columns; a value with a comma needs quotes.'],
  ],
  ['a row that is too short', 'a,b\n1', [2, 1, 'The row has 1 value, but the header 2 columns.']],
  ['an open quote', 'a,b\n\n😀,"x\ny', [3, 1, 'The quote is never closed.']],
  [
    'text behind a quote',
    'a,b\n"1"x,2',
    [2, 1, 'Text follows the closing quote; a quote in a value is written twice: "".'],
  ],
  [
    'a quote in a bare value',
    'a\n5" nail',
    [2, 1, 'A value with a quote in it has to be in quotes, with the quote written twice: "".'],
  ],
] as const)('tells where CSV has %s', (_, text, [line, column, message]) => {
  expect(rowsOfCsv(text).problems).toEqual([{ line, column, message }])
})

test.each([' b', '__proto__', 'env:A', 'a}', 'a\rb'])('refuses a column named %j', (name) => {
  const message = `A column cannot be named ${JSON.stringify(name)}: a name has no braces or control characters, no space at its ends, and does not begin with env: or var:.`
  expect(rowsOfCsv(`c,${name}\n`).problems).toEqual([{ line: 1, column: 1, message }])
  expect(rowsOfJsonLines(JSON.stringify({ c: 1, [name]: 1 })).problems).toEqual([
    { line: 1, column: 1, message },
  ])
})

test('reads no more than 100,000 rows', () => {
  expect(
    rowsOfCsv(`id\n${Array.from({ length: 100_001 }, (_, at) => `row-${at}\n`).join('')}`).problems,
  ).toEqual([{ line: 100_002, column: 1, message: 'There are more than 100000 rows.' }])
})

test('tells every mistake, and reads the other rows', () => {
  const { rows, problems } = rowsOfCsv('a,id\n1\n"x\ny",2\n3,4,5\n')
  expect([...rows]).toEqual([['2', { a: 'x\ny', id: '2' }]])
  expect(problems.map(({ line }) => line)).toEqual([2, 5])
})

test('takes a digest of the values where there is no id, wherever row and column are', async () => {
  const [red, blue] = rowsOfCsv('name,size\nRed,1\nBlue,2\n').rows.keys()
  expect(red).toBe('482b0537e167d492')
  expect([...rowsOfCsv('size,name\n2,Blue\n1,Red\n').rows.keys()]).toEqual([blue, red])
  expect([...rowsOfJsonLines('{"size":1,"name":"Red"}\n').rows.keys()]).toEqual([red])
  const list = oneJob('each: [{ size: 1, name: Red }]', 'respond: { input: x }', 'out: "${name}"')
  expect([...(await read(list)).instances.keys()]).toEqual([`hero[${red}]`])
})

test('reads values of JSON', () => {
  const { rows } = rowsOfJsonLines('\ufeff{"id":"a","n":1.50,"is":true}\r\n\n{"id":7,"none":null}\n')
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
  expect(rowsOfJson(array)).toEqual({ rows, problems: [] })
  expect(rowsOfJson(`{"version": 1, "scenes": ${array}}`)).toEqual({ rows, problems: [] })
  expect(rowsOfJson('[]')).toEqual({ rows: new Map(), problems: [] })
})

const noArray = 'The file is neither a JSON array nor an object with exactly one array in it.'

test.each([
  [
    '[\n  {"id": "a"},\n  {"id": "b"},,\n]',
    3,
    15,
    'The file is not valid JSON: expected a value near `{"id": "b"},,`.',
  ],
  ['{"a": 1}', 1, 1, noArray],
  ['{"a": [], "b": []}', 1, 1, noArray],
  ['"text"', 1, 1, noArray],
  ['[\n  {"id": "a, b"},\n  "c"\n]', 3, 3, 'The element is not a JSON object.'],
  ['[{"id": "a"},\n {"id": "\\"}"}, {"id": "a"}]', 2, 17, 'The id "a" is taken by element 1.'],
  [
    '{"of": {"l": [1, 2]}, "rows": [{"id": "a"},\n   {"n": 1}]}',
    2,
    4,
    'The element has no `id`, which the others have.',
  ],
])('tells what is wrong with the JSON %j, and where', (text, line, column, message) => {
  expect(rowsOfJson(text).problems).toEqual([{ line, column, message }])
})

test.each([
  ['an id twice', 'id\na\nb\na\n', 4, 'The id "a" is taken by line 2.'],
  ['an id in two forms of Unicode', 'id\n\u00e9\ne\u0301\n', 3, 'The id "\u00e9" is taken by line 2.'],
  [
    'two equal rows',
    'a,b\n1,2\n1,2\n',
    3,
    'The row is the same as that of line 2; give each a column `id`, or leave one out.',
  ],
  ['an empty id', 'id,a\n,1\n', 2, 'The row has no `id`, which the others have.'],
])('refuses %s', (_, text, line, message) => {
  expect(rowsOfCsv(text).problems).toEqual([{ line, column: 1, message }])
})

test.each(['a]', 'a\u0007', 'a\u202eb', 'a ', 'a'.repeat(121)])('refuses the id %j', (id) => {
  const shown = JSON.stringify(id.length > 120 ? `${'a'.repeat(120)}…` : id)
  const message = `The id ${shown} cannot be one: it has at most 120 characters, no brackets or control characters, and no space at its ends.`
  expect(rowsOfCsv(`id\n${id}\n`).problems).toEqual([{ line: 2, column: 1, message }])
})

test.each([
  ['{"a":1}\n{"a":\n', 2, 6, 'The line is not valid JSON: expected a value near `{"a":`.'],
  ['["a"]\n', 1, 1, 'The line is not a JSON object.'],
  ['{"id":"a"}\n{"b":"b"}\n', 2, 1, 'The row has no `id`, which the others have.'],
])('tells what is wrong with the JSON lines %j', (text, line, column, message) => {
  expect(rowsOfJsonLines(text).problems).toEqual([{ line, column, message }])
})
