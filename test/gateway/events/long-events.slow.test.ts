import { expect, test } from 'vitest'
import { inPieces } from '../../support/server-replies.ts'
import { outcomeOf } from './outcome.ts'

test('two million lines of data are read, and 4.3 million are not', () => {
  const padded = (count: number) => Buffer.from(`data: {"a":1\n${'data:\n'.repeat(count)}data: }\n\n`)
  const read = padded(2_000_000)
  expect(outcomeOf(inPieces(read.toString(), 262_144))).toMatchObject({
    messages: [{ a: 1 }],
    error: undefined,
  })
  const refused = inPieces(padded(4_300_000).toString(), 262_144)
  expect(outcomeOf(refused)).toMatchObject({ messages: [], error: 'message_too_large' })
})

test('bare JSON of 800,000 lines is read in small pieces', () => {
  const reply = `data: 1\n\n{"a":[\n${'    1234,\n'.repeat(800_000)}1]}\n`
  const { messages, error } = outcomeOf(inPieces(reply, 1024))
  expect(error).toBeUndefined()
  expect(messages.at(-1)).toHaveProperty('a')
})
