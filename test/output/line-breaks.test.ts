import { expect, test } from 'vitest'
import { breakLine } from '../../src/output/line-breaks.ts'

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
