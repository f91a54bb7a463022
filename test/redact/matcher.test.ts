import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createMatcher } from '../../src/redact/matcher.ts'
import { runs } from '../support/sample.ts'

const long = 'Key-0123456789-abcdefghij-KLMNOPQRST'
const short = 'sHort+88'
const middle = 'twelve-and-6'
const forms = [long, short, middle]

/** The rule of `find`, letter by letter: a whole form, its first 12 characters or more, or any 20 in a row. */
function ruleOf(forms: readonly string[], text: string): number[] {
  const folded = text.toLowerCase()
  const hidden = Array<boolean>(text.length).fill(false)
  const mark = (part: string) => {
    for (let at = folded.indexOf(part); at !== -1; at = folded.indexOf(part, at + 1)) {
      hidden.fill(true, at, at + part.length)
    }
  }
  for (const form of forms.map((one) => one.toLowerCase())) {
    mark(form)
    for (let length = 12; length < form.length; length++) mark(form.slice(0, length))
    for (let start = 0; start + 20 <= form.length; start++) mark(form.slice(start, start + 20))
  }
  return hidden.flatMap((isHidden, at) => [
    ...(isHidden && hidden[at - 1] !== true ? [at] : []),
    ...(isHidden && hidden[at + 1] !== true ? [at + 1] : []),
  ])
}

/** Pieces of the forms of any length, in either case, between other characters. */
function textsWith(forms: readonly string[]) {
  const piece = fc
    .tuple(fc.constantFrom(...forms), fc.nat(40), fc.nat(40), fc.boolean())
    .map(([form, start, length, isUpper]) => {
      const part = form.slice(start % form.length, (start % form.length) + length)
      return isUpper ? part.toUpperCase() : part
    })
  const other = fc.constantFrom('', ' ', '-', '0', 'key', 'k', '/')
  return fc
    .array(fc.oneof(piece, fc.constantFrom(...forms), other), { maxLength: 8 })
    .map((parts) => parts.join(''))
}

test.each([
  [forms],
  [[long]],
  [[short]],
  [[middle, long.slice(5)]],
  [['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'aaaaaaab']],
])('finds what the rule says, and not a character more: %j', (forms) => {
  fc.assert(
    fc.property(textsWith(forms), (text) => {
      expect(createMatcher(forms).find(text)).toEqual(ruleOf(forms, text))
    }),
    runs(400),
  )
})

test.each([
  ['', []],
  [long, [0, 36]],
  [`x${long}${long}x`, [1, 73]],
  [`${long} ${long}`, [0, 36, 37, 73]],
  [long.toUpperCase(), [0, 36]],
  [`.${long.slice(0, 12)}.`, [1, 13]],
  [`.${long.slice(0, 11)}.`, []],
  [`.${long.slice(9, 29)}.`, [1, 21]],
  [`.${long.slice(9, 28)}.`, []],
  [`.${short}.`, [1, 9]],
  [`.${short.slice(0, 7)}.`, []],
  [middle, [0, 12]],
  [middle.slice(0, 11), []],
])('in %j the spans are %j', (text, spans) => {
  expect(createMatcher(forms).find(text)).toEqual(spans)
  expect(ruleOf(forms, text)).toEqual(spans)
})

test('a character that separates forms in the table matches nothing', () => {
  const one = 'abcdefghijklmnop'
  const { find } = createMatcher([`${one}1234`, `5678${one}`])
  expect(find(`mnop1234\uffff5678abcdefg`)).toEqual([])
  expect(find('\uffff'.repeat(40))).toEqual([])
})

test('a match does not go on from one form to the next', () => {
  const { find } = createMatcher(['abcdefghijklmnopqrst', 'uvwxyz0123456789abcd'])
  expect(find('abcdefghijklmnopqrst\uffffuvw')).toEqual([0, 20])
  expect(find('abcdefghijklmnopqrstuvw')).toEqual([0, 20])
})

test.each([
  ['a form within another', ['abcdefgh12345678', 'efgh1234'], 'abcdefgh12345678', [0, 16]],
  ['Z is z', ['keyZ0123'], 'keyz0123', [0, 8]],
  ['a bracket is no brace', ['Key[0123456'], 'Key{0123456', []],
  ['a control character is no digit', ['Key0123456'], 'Key\u00101234567', []],
  ['a letter is none of another alphabet', ['é2345678'], 'éi2345678', []],
  ['all of another alphabet are alike', ['\u00802345678'], '\u0080é2345678', [1, 9]],
  ['a character too few', ['abcdefghé'], 'xabcdefgh', []],
] as const)('letter for letter: %s', (_, forms, text, spans) => {
  expect(createMatcher(forms).find(text)).toEqual(spans)
})

test('without forms nothing is found, and a form that is too short is refused', () => {
  expect(createMatcher([]).find('anything')).toEqual([])
  expect(createMatcher([]).openTail('anything')).toBe(0)
  expect(createMatcher(['four']).find('a four b')).toEqual([2, 6])
  expect(() => createMatcher([long, 'two'])).toThrow('A form is too short to be recognised.')
})

describe('of a text that goes on', () => {
  test.each([
    [[long], 'x', 0],
    [[long], '', 0],
    // The first three characters of a long form are not waited for: what follows is found without them.
    [[long], 'x Key', 0],
    [[long], 'x Key-', 4],
    [[long], 'x key-0', 5],
    [[long], `x ${long.slice(0, 19)}`, 19],
    [[long], `x ${long.slice(0, 25)}`, 19],
    // Any part of it may be the beginning of 20 characters.
    [[long], 'x 3456', 4],
    [[long], 'x 3456789-', 8],
    [[long], 'x 345', 0],
    [[long], 'x 3456.', 0],
    [[long], 'Key-', 4],
    // All of a short form has to be there.
    [[short], 'x s', 1],
    [[short], 'x SH', 2],
    [[short], 'x sho', 3],
    [[short], 'x shor', 4],
    [[short], 'ho', 0],
    [[short], 'so', 0],
    [[short], 's', 1],
    [[short], '', 0],
    [[long, short], 'x Ke', 2],
    // Of 23 characters the rest would be too short without the first three; of 24 it would not.
    [[long.slice(0, 23)], 'x Ke', 2],
    [[long.slice(0, 24)], 'x Ke', 0],
    // There is nothing before a text.
    [['a bcdefghijklmnopqrstuvwxyz'], 'bcd', 0],
    [['ééé7890'], '', 0],
  ])('with the forms %j, of %j the last %i characters may be a beginning', (forms, text, tail) => {
    expect(createMatcher(forms).openTail(text)).toBe(tail)
  })
})
