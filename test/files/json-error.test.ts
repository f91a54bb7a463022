import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { findJsonError } from '../../src/files/json-error.ts'
import { parseJson } from '../../src/files/parse-json.ts'

test.each([
  ['', 'line 1, column 1: expected a value'],
  ['{a: 1}', 'line 1, column 2: expected a name in double quotes or "}" near `{a: 1}`'],
  ["{'a': 1}", 'line 1, column 2: expected a name in double quotes or "}" near `{\'a\': 1}`'],
  ['{"a": 1,\n}', 'line 2, column 1: expected a name in double quotes near `}`'],
  ['{"a" 1}', 'line 1, column 6: expected ":" near `{"a" 1}`'],
  ['{"a": 1 "b": 2}', 'line 1, column 9: expected "," or "}" near `{"a": 1 "b": 2}`'],
  ['[1, 2', 'line 1, column 6: expected "," or "]" near `[1, 2`'],
  ['[1,]', 'line 1, column 4: expected a value near `[1,]`'],
  ['[1]]', 'line 1, column 4: expected the end near `[1]]`'],
  ['[01]', 'line 1, column 3: expected "," or "]" near `[01]`'],
  ['1.', 'line 1, column 3: expected a digit near `1.`'],
  ['-x', 'line 1, column 2: expected a digit near `-x`'],
  ['tru', 'line 1, column 4: expected true near `tru`'],
  ['"ä😀\n', 'line 1, column 4: expected no bare control character inside quotes near `"ä😀`'],
  ['"\\q"', 'line 1, column 3: expected an escape like \\n, \\" or \\u00e9 near `"\\q"`'],
  ['"\\u00g0"', 'line 1, column 6: expected an escape like \\n, \\" or \\u00e9 near `"\\u00g0"`'],
  ['"open', 'line 1, column 6: expected a closing quote near `"open`'],
  ['\u00A01', 'line 1, column 1: expected a value near `1`'],
])('%j', (text, problem) => {
  expect(parseJson(text)).toMatchObject({ problem: `is not valid JSON: ${problem}` })
})

test('the excerpt is short, in one line, and around the place', () => {
  const secret = 'never shown '.repeat(1000)
  const error = findJsonError(`{"${secret}": 1,\n  "b": \x1b[31moops, "c": "${secret}"}`)
  expect(error).toMatchObject({ line: 2, column: 8, excerpt: '"b":  [31moops, "c": '.trim() })
})

/** JSON text with one character removed, replaced or added, and where. */
const damaged = fc
  .tuple(
    fc.json({ maxDepth: 4 }),
    fc.nat(),
    fc.nat(2),
    fc.constantFrom('"', '{', '}', ',', ':', '\\', '1', 'x', '\n', ']'),
  )
  .map(([text, seed, kind, character]) => {
    const place = seed % (text.length + 1)
    const rest = text.slice(kind === 2 ? place : place + 1)
    return { place, text: text.slice(0, place) + (kind === 0 ? '' : character) + rest }
  })

test('an error is found exactly where JSON.parse finds one', () => {
  const texts = fc.oneof(
    damaged,
    fc.string({ unit: fc.constantFrom(...'[]{},:"\\u01-.eE+ntrue') }).map((text) => ({ text, place: 0 })),
  )
  fc.assert(
    fc.property(texts, ({ text, place }) => {
      const error = findJsonError(text)
      expect(error !== undefined).toBe(refused(text) !== undefined)
      if (error === undefined) return
      expect(error.offset).toBeGreaterThanOrEqual(place)
      // What stands before the place could still have become JSON: cut there, the text only ends too early.
      expect(findJsonError(text.slice(0, error.offset))?.offset ?? error.offset).toBe(error.offset)
      const position = /at position (\d+)/.exec(refused(text)!)?.[1]
      expect([undefined, error.offset]).toContain(position === undefined ? undefined : Number(position))
    }),
    { numRuns: 5000 },
  )
})

function refused(text: string): string | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

test('deep and long input is no problem', () => {
  expect(findJsonError('['.repeat(1e6))).toMatchObject({ offset: 1e6 })
  expect(findJsonError(`"${'a'.repeat(1e7)}" x`)).toMatchObject({ offset: 1e7 + 3, column: 1e7 + 4 })
  expect(findJsonError('\n'.repeat(1e6))).toMatchObject({ line: 1e6 + 1, column: 1 })
})

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

test('what is nested too deeply to be written again is refused', () => {
  expect(parseJson(nested(512))).toHaveProperty('value')
  expect(parseJson(nested(513))).toMatchObject({ problem: 'is nested more than 512 levels deep' })
  expect(parseJson(nested(1e6))).toHaveProperty('problem')
})

test('a __proto__ key stays an own key', () => {
  const { value } = parseJson('{"__proto__": {"polluted": true}}')
  expect(Object.keys(value as object)).toEqual(['__proto__'])
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
})
