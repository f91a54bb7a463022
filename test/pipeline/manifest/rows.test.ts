import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { rowsOfCsv, rowsOfJsonLines, rowsOfList } from '../../../src/pipeline/manifest/rows.ts'

test('takes the column id', () => {
  expect(rowsOfCsv('name,id\nRed,shoe-1\n')).toEqual({
    rows: [{ id: 'shoe-1', columns: { name: 'Red', id: 'shoe-1' }, line: 2 }],
    problems: [],
  })
})

test('takes a digest of the values where there is no id, wherever row and column are', () => {
  const [red, blue] = rowsOfCsv('name,size\nRed,1\nBlue,2\n').rows
  expect(red!.id).toBe('482b0537e167d492')
  expect(rowsOfCsv('size,name\n2,Blue\n1,Red\n').rows.map(({ id }) => id)).toEqual([blue!.id, red!.id])
  expect(rowsOfJsonLines('{"size":1,"name":"Red"}\n').rows.map(({ id }) => id)).toEqual([red!.id])
  expect(rowsOfList([{ size: 1, name: 'Red' }]).rows.map(({ id }) => id)).toEqual([red!.id])
})

test('reads values of JSON as texts', () => {
  const { rows } = rowsOfJsonLines('\ufeff{"id":"a","n":1.50,"is":true}\r\n\n{"id":7,"none":null}\n')
  expect(rows).toEqual([
    { id: 'a', columns: { id: 'a', n: '1.5', is: 'true' }, line: 1 },
    { id: '7', columns: { id: '7', none: '' }, line: 3 },
  ])
})

test('takes single values of a list as ids', () => {
  expect(rowsOfList(['de', 'en', 3]).rows).toEqual([
    { id: 'de', columns: { id: 'de' }, line: 1 },
    { id: 'en', columns: { id: 'en' }, line: 2 },
    { id: '3', columns: { id: '3' }, line: 3 },
  ])
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
  ['an empty id', 'id,a\n,1\n', 2, 'The row has no `id`, which the other rows have.'],
  ['a bracket', 'id\na]\n', 2, 'The id "a]" has a bracket in it.'],
  ['a control character', 'id\na\u0007\n', 2, 'The id "a\\u0007" has a control character in it.'],
  ['a turned direction', 'id\na\u202eb\n', 2, 'The id "a\u202eb" has a control character in it.'],
  ['a space', 'id\n"a "\n', 2, 'The id "a " has a space at its beginning or end.'],
])('refuses %s', (_, text, line, message) => {
  expect(rowsOfCsv(text).problems).toEqual([{ line, column: 1, message }])
})

test.each([
  ['{"a":1}\n{"a":\n', 2, 6, 'The line is not valid JSON: expected a value near `{"a":`.'],
  ['["a"]\n', 1, 1, 'The line is not a JSON object.'],
  ['{"a":{"b":1}}\n', 1, 1, 'The column "a" is an object, not a single value.'],
  ['{"a":[1]}\n', 1, 1, 'The column "a" is a list, not a single value.'],
  ['{"__proto__":1}\n', 1, 1, 'A column cannot be named "__proto__".'],
  ['{"id":"a"}\n{"b":"b"}\n', 2, 1, 'The row has no `id`, which the other rows have.'],
])('tells what is wrong with the JSON lines %j', (text, line, column, message) => {
  expect(rowsOfJsonLines(text).problems).toEqual([{ line, column, message }])
})

test('tells what is wrong with a list, by the number of the item', () => {
  expect(rowsOfList(['a', ['b'], 'a']).problems).toEqual([
    { line: 2, column: 1, message: 'The column "id" is a list, not a single value.' },
    { line: 3, column: 1, message: 'The id "a" is taken by item 1.' },
  ])
})

test('has unique ids, one for each row that is not told', () => {
  const cell = fc.constantFrom('a', 'b', 'é', 'e\u0301', '', '[', ' ')
  fc.assert(
    fc.property(fc.array(fc.record({ id: cell, x: cell })), (list) => {
      const { rows, problems } = rowsOfList(list)
      expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length)
      expect(rows.length + problems.length).toBe(list.length)
    }),
  )
})
