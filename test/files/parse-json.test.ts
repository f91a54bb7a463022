import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { describeJsonError, parseJson } from '../../src/files/parse-json.ts'
import { runs } from '../support/sample.ts'

test.each([
  ['', 'line 1, column 1: expected a value'],
  ['{a: 1}', 'line 1, column 2: expected property name or "}" near `{a: 1}`'],
  ["{'a': 1}", 'line 1, column 2: expected property name or "}" near `{\'a\': 1}`'],
  ['{"a": 1,\n}', 'line 2, column 1: expected double-quoted property name near `}`'],
  ['{"a" 1}', 'line 1, column 6: expected ":" after property name near `{"a" 1}`'],
  ['{"a": 1 "b": 2}', 'line 1, column 9: expected "," or "}" after property value near `{"a": 1 "b": 2}`'],
  ['[1, 2', 'line 1, column 6: expected "," or "]" after array element near `[1, 2`'],
  ['[1,]', 'line 1, column 4: expected a value near `[1,]`'],
  ['[1]]', 'line 1, column 4: unexpected non-whitespace character after JSON near `[1]]`'],
  ['[01]', 'line 1, column 3: unexpected number near `[01]`'],
  ['1.', 'line 1, column 3: unterminated fractional number near `1.`'],
  ['-x', 'line 1, column 2: no number after minus sign near `-x`'],
  ['tru', 'line 1, column 4: expected a value near `tru`'],
  ['[tru]', 'line 1, column 5: expected a value near `[tru]`'],
  ['undefined', 'line 1, column 1: expected a value near `undefined`'],
  ['"ä😀\n', 'line 1, column 4: bad control character in string literal near `"ä😀`'],
  ['"\\q"', 'line 1, column 3: bad escaped character near `"\\q"`'],
  ['"\\u00g0"', 'line 1, column 6: bad Unicode escape near `"\\u00g0"`'],
  ['"open', 'line 1, column 6: unterminated string near `"open`'],
  ['["at position 1", x]', 'line 1, column 19: expected a value near `osition 1", x]`'],
  ['\u00A01', 'line 1, column 1: expected a value near `1`'],
])('%j', (text, problem) => {
  expect(parseJson(text)).toMatchObject({ problem: `is not valid JSON: ${problem}` })
})

function errorOf(text: string) {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return describeJsonError(text, error as SyntaxError)
  }
}

test('the excerpt is short, in one line, and around the place', () => {
  const secret = 'never shown '.repeat(1000)
  const error = errorOf(`{"${secret}": 1,\n  "b": \x1b[31moops, "c": "${secret}"}`)
  expect(error).toMatchObject({ line: 2, column: 8, excerpt: '"b":  [31moops, "c": '.trim() })
})

/** JSON text with one character removed, replaced or added, and where. */
const damaged = fc
  .tuple(fc.json({ maxDepth: 4 }), fc.nat(), fc.nat(2), fc.constantFrom(...'"{},:\\1x\n]'))
  .map(([text, seed, kind, character]) => {
    const place = seed % (text.length + 1)
    const rest = text.slice(kind === 2 ? place : place + 1)
    return { place, text: text.slice(0, place) + (kind === 0 ? '' : character) + rest }
  })

test('an error is where the text could still have become JSON, and no longer can', () => {
  const excerpts = fc
    .string({ unit: fc.constantFrom(...'1x, "😀'), minLength: 20, maxLength: 60 })
    .map((end) => `["1,x","1,x,1","x,x,x",1${end}`)
  const marks = fc.string({ unit: fc.constantFrom(...'[]{},:"\\u01-.eE+ntrue') })
  const texts = fc.oneof(
    damaged,
    fc.oneof(excerpts, marks).map((text) => ({ text, place: 0 })),
  )
  fc.assert(
    fc.property(texts, ({ text, place }) => {
      const error = errorOf(text)
      if (error === undefined) return
      expect(error.offset).toBeGreaterThanOrEqual(place)
      // Cut there, the text only ends too early.
      expect(errorOf(text.slice(0, error.offset))?.offset ?? error.offset).toBe(error.offset)
      // No end makes it right once its wrong character has come.
      const wrong = errorOf(text.slice(0, error.offset + 1))?.offset
      expect([error.offset, error.offset + 1]).toContain(wrong)
    }),
    runs(5000),
  )
})

test('deep and long input is not a problem', () => {
  expect(errorOf('['.repeat(1e6))).toMatchObject({ offset: 1e6 })
  expect(errorOf(`${'['.repeat(1e6)}x`)).toMatchObject({ offset: 1e6 })
  expect(errorOf(`"${'a'.repeat(1e7)}" x`)).toMatchObject({ offset: 1e7 + 3, column: 1e7 + 4 })
  expect(errorOf('\n'.repeat(1e6))).toMatchObject({ line: 1e6 + 1, column: 1 })
})

test('an unexpected token late in a long text is found', () => {
  const record =
    '  {"name": "a \\"kite\\"", "note": "[1, 2, 3, x, 4, 5]", "list": [1, -2.5e3, true, null, {}, []]},\n'
  const records = `[\n${record.repeat(20_000)}`
  expect(errorOf(`${records}  {"list": [1, x, 2]}]`)).toMatchObject({ line: 20_002, column: 16 })
  expect(errorOf(`${records}  x]`)).toMatchObject({ line: 20_002, column: 3 })
})

test('what is nested too deeply to be written again is refused', () => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  expect(parseJson(nested(512))).toHaveProperty('value')
  expect(parseJson(nested(513))).toMatchObject({ problem: 'is nested more than 512 levels deep' })
  expect(parseJson(nested(1e6))).toHaveProperty('problem')
})

test('a __proto__ key stays an own key', () => {
  const { value } = parseJson('{"__proto__": {"polluted": true}}')
  expect(Object.keys(value as object)).toEqual(['__proto__'])
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
})
