import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseCsv } from '../../../src/pipeline/manifest/rows.ts'
import { anyText } from '../../support/any-text.ts'

test('reads quotes, commas, ends of lines and a byte-order mark', () => {
  const text = '\ufeffid,name\r\nshoe,"Red, ""soft""\r\nshoe"\r\n\r\nhat,\r\n"",x'
  expect(parseCsv(text)).toEqual({
    header: ['id', 'name'],
    rows: [
      { values: { id: 'shoe', name: 'Red, "soft"\nshoe' }, line: 2 },
      { values: { id: 'hat', name: '' }, line: 5 },
      { values: { id: '', name: 'x' }, line: 6 },
    ],
    problems: [],
  })
})

test.each([
  ['an empty file', '', [1, 1, 'The file is empty: its first line has to name the columns.']],
  ['a column twice', 'a,b,a\n1,2,3', [1, 1, 'The column "a" is there twice.']],
  ['a column without name', 'a,,c\n1,2,3', [1, 1, 'Column 2 has no name.']],
  ['a space in the header', 'a, b\n', [1, 1, 'The column " b" has a space at its beginning or end.']],
  ['a name of JavaScript', 'a,__proto__\n', [1, 1, 'A column cannot be named "__proto__".']],
  ['a name like a variable', 'env:A\n', [1, 1, 'A column cannot begin with env:, as "env:A" does.']],
  ['a brace', 'a}\n', [1, 1, 'The column "a}" has a brace or a control character in its name.']],
  ['semicolons', 'id;name\n1;2', [1, 1, 'The columns are separated by semicolons; use commas.']],
  ['tabs', 'id\tname\n1\t2', [1, 1, 'The columns are separated by tabs; use commas.']],
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
  [
    'lines that end with a carriage return',
    'a\rb',
    [1, 1, 'The column "a\\rb" has a brace or a control character in its name.'],
  ],
] as const)('tells where there is %s', (_, text, [line, column, message]) => {
  expect(parseCsv(text).problems).toEqual([{ line, column, message }])
})

test('tells every mistake, and reads the other rows', () => {
  const { rows, problems } = parseCsv('a,b\n1\n"x\ny",2\n3,4,5\n')
  expect(rows).toEqual([{ values: { a: 'x\ny', b: '2' }, line: 3 }])
  expect(problems.map(({ line }) => line)).toEqual([2, 5])
})

test('stops behind the greatest number of rows', () => {
  const { rows, problems } = parseCsv('a\n1\n2\n3\n4', 2)
  expect(rows.length).toBe(2)
  expect(problems).toEqual([{ line: 4, column: 1, message: 'There are more than 2 rows.' }])
})

test('reads back what was written, in every way of quoting', () => {
  const quote = (value: string) => `"${value.replaceAll('"', '""')}"`
  const written = (value: string, isQuoted: boolean) =>
    isQuoted || value === '' || /[",\n\r]/.test(value) ? quote(value) : value
  const value = anyText({ maxLength: 6 }).map((text) => text.replaceAll('\r\n', '\n'))
  const table = fc
    .integer({ min: 1, max: 4 })
    .chain((width) =>
      fc.array(fc.array(fc.tuple(value, fc.boolean()), { minLength: width, maxLength: width })),
    )
  fc.assert(
    fc.property(table, fc.constantFrom('\n', '\r\n'), fc.boolean(), (rows, end, endsWithEnd) => {
      const header = (rows[0] ?? ['']).map((_, at) => `c${at}`)
      const lines = [header.join(','), ...rows.map((row) => row.map((cell) => written(...cell)).join(','))]
      const result = parseCsv(lines.join(end) + (endsWithEnd ? end : ''))
      expect(result.problems).toEqual([])
      expect(result.rows.map(({ values }) => Object.values(values))).toEqual(
        rows.map((row) => row.map(([text]) => text)),
      )
    }),
  )
})

test('takes any text, with each mistake inside it', () => {
  const text = fc.string({ unit: fc.constantFrom('"', ',', '\n', '\r', 'a', '😀', ';') })
  fc.assert(
    fc.property(text, (source) => {
      const lines = source.replaceAll('\r\n', '\n').split('\n')
      for (const { line, column } of parseCsv(source).problems) {
        expect(lines.length).toBeGreaterThanOrEqual(line)
        expect([...lines[line - 1]!].length + 1).toBeGreaterThanOrEqual(column)
      }
    }),
  )
})
