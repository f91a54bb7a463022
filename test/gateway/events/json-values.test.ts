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
