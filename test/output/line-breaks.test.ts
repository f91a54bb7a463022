import { expect, test } from 'vitest'
import { breakLine, wrap } from '../../src/output/line-breaks.ts'

test.each<[string, number, string[]]>([
  ['', 10, ['']],
  ['a few words', 11, ['a few words']],
  ['a few words', 10, ['a few', '> words']],
  ['  a few words', 7, ['  a few', '> words']],
  ['anextraordinarilylongword is', 10, ['anextraordinarilylongword', '> is']],
  ['name   a   gap', 12, ['name   a', '> gap']],
  ['日本 日本 日本', 9, ['日本 日本', '> 日本']],
  ['éé éé éé', 8, ['éé éé éé']],
])('%j in %d cells', (line, room, lines) => {
  expect(breakLine(line, room, '> ')).toEqual(lines)
})

test.each([
  ['a b c', 3, '', 'a b\nc'],
  ['a b c', 5, '', 'a b c'],
  ['  abcdef gh', 4, '    ', '  abcdef\n    gh'],
  ['abcdef', 3, '', 'abcdef'],
  ['', 3, '', ''],
])('%j wrapped at %i', (line, columns, hanging, wrapped) => {
  expect(wrap(line, columns, hanging)).toBe(wrapped)
})
