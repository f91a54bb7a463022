import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonError } from '../../src/config/json-error.ts'

test.each([
  ['', 1, 1, 'expected a value'],
  ['{"a": 1,}', 1, 9, 'expected a property name in double quotes'],
  ['{\n  a: 1\n}', 2, 3, 'expected a property name in double quotes, or "}"'],
  ['{\r\n  "a" 1\r\n}', 2, 7, 'expected ":"'],
  ['{"a": 1 "b": 2}', 1, 9, 'expected "," or "}"'],
  ['[1 2]', 1, 4, 'expected "," or "]"'],
  ['[,]', 1, 2, 'expected a value or "]"'],
  ['{"a": nope}', 1, 7, 'expected a value'],
  ['{"a": "line\nbreak"}', 1, 7, 'expected a value'],
  ['{"a": "\\x"}', 1, 7, 'expected a value'],
  ['{"a": 01}', 1, 8, 'expected "," or "}"'],
  ['[1]]', 1, 4, 'expected nothing more after the end'],
  ['{"a": [1', 1, 9, 'expected "," or "]"'],
])('%j fails at %i:%i: %s', (text, line, column, problem) => {
  expect(jsonError(text)).toEqual({ line, column, problem })
})

test('agrees with JSON.parse on what is JSON', () => {
  const broken = fc
    .tuple(fc.json(), fc.nat(), fc.constantFrom('', ',', '}', ']', '"', ' ', '\\', '1', 'x', '\u0001'))
    .map(
      ([json, at, piece]) =>
        json.slice(0, at % (json.length + 1)) + piece + json.slice((at % (json.length + 1)) + 1),
    )
  fc.assert(
    fc.property(fc.oneof(fc.json(), broken, fc.string()), (text) => {
      let valid = true
      try {
        JSON.parse(text)
      } catch {
        valid = false
      }
      expect(jsonError(text) === undefined).toBe(valid)
    }),
    { numRuns: 1000 },
  )
})
