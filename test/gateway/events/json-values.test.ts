import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createJsonValueSplitter } from '../../../src/gateway/events/json-reader.ts'

function split(pieces: readonly string[]) {
  const values: string[] = []
  const strays: string[] = []
  const splitter = createJsonValueSplitter(
    (text) => values.push(text),
    (text) => strays.push(text),
  )
  for (const piece of pieces) splitter.feed(piece)
  return { values, strays, pending: splitter.pendingLength }
}

test('finds the objects of any JSON values, in any arrangement and however cut', () => {
  const object = fc.dictionary(fc.string(), fc.jsonValue())
  const between = fc.constantFrom('', '\n', ',', ' ,\r\n', '\u001e')
  fc.assert(
    fc.property(
      fc.array(object),
      between,
      fc.nat(4),
      fc.integer({ min: 1, max: 9 }),
      (objects, join, indent, size) => {
        const texts = objects.map((value) => JSON.stringify(value, null, indent))
        const whole = texts.join(join)
        const pieces = whole.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
        expect(split(pieces)).toEqual({ values: texts, strays: [], pending: 0 })
      },
    ),
    { numRuns: 2_000 },
  )
})

test('counts the characters of a value that has not ended', () => {
  expect(split(['[{"a":1},', '{"b":', '"}'])).toEqual({ values: ['{"a":1}'], strays: [], pending: 7 })
})

test('is not misled by escaped quotes and by brackets in strings', () => {
  const text = '{"a":"\\\\","}":"\\"]{","\\"":[[{}]]}'
  expect(split([...text])).toEqual({ values: [text], strays: [], pending: 0 })
})

test('reports text between values', () => {
  expect(split(['{}', 'oops', '{}'])).toEqual({ values: ['{}', '{}'], strays: ['oops'], pending: 0 })
})
