import { expect, test } from 'vitest'
import { createMatcher } from '../../src/redact/matcher.ts'

const long = 'Key-0123456789-abcdefghij-KLMNOPQRST'
const short = 'sHort+88'
const middle = 'twelve-and-6'
const forms = [long, short, middle]

test.each([
  ['', []],
  [long, [0, 36]],
  [`x${long}${long}x`, [1, 73]],
  [`${long} ${long}`, [0, 36, 37, 73]],
  [long.toUpperCase(), [0, 36]],
  [`.${long.slice(0, 16)}.`, [1, 17]],
  [`.${long.slice(0, 15)}.`, []],
  [`.${long.slice(1)}.`, []],
  [`.${short}.`, [1, 9]],
  [`.${short.slice(0, 7)}.`, []],
  [middle, [0, 12]],
  [middle.slice(0, 11), []],
])('in %j the spans are %j', (text, spans) => {
  expect(createMatcher(forms).find(text)).toEqual(spans)
})

test.each([
  ['a form within another', ['abcdefgh12345678', 'efgh1234'], 'abcdefgh12345678', [0, 16]],
  ['Z is z', ['keyZ0123'], 'keyz0123', [0, 8]],
  ['a bracket is no brace', ['Key[0123456'], 'Key{0123456', []],
  ['a control character is no digit', ['Key0123456'], 'Key\u00101234567', []],
  ['a letter is none of another alphabet', ['é2345678'], 'éi2345678', []],
  ['marks of patterns', ['a.b*c(d[e'], 'aXb*c(d[e a.b*c(d[e', [10, 19]],
  ['a character too few', ['abcdefghé'], 'xabcdefgh', []],
] as const)('letter for letter: %s', (_, forms, text, spans) => {
  expect(createMatcher(forms).find(text)).toEqual(spans)
})

test('without forms nothing is found', () => {
  expect(createMatcher([]).find('anything')).toEqual([])
  expect(createMatcher([]).openTail('anything')).toBe(0)
})

test.each([
  [[long], 'x', 0],
  [[long], '', 0],
  // The first three characters of a long form are not waited for.
  [[long], 'x Key', 0],
  [[long], 'x Key-', 4],
  [[long], 'x key-0', 5],
  [[long], `x ${long.slice(0, 25)}`, 25],
  [[long], `x ${long}`, 0],
  [[long], `x ${long.slice(1, 6)}`, 0],
  // All of a short form has to be there.
  [[short], 'x s', 1],
  [[short], 'x SH', 2],
  [[short], 'x shor', 4],
  [[short], 'ho', 0],
  [[short], 's', 1],
  [[long, short], 'x s', 1],
  // Of a form of fewer than 20 characters any end is waited for.
  [[long.slice(0, 19)], 'x Ke', 2],
  [[long.slice(0, 20)], 'x Ke', 0],
])(
  'of a text that goes on, with the forms %j, of %j the last %i characters may be a beginning',
  (forms, text, tail) => {
    expect(createMatcher(forms).openTail(text)).toBe(tail)
  },
)
