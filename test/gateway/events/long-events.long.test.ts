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
  expect(outcomeOf(refused)).toMatchObject({ messages: [], error: 'reply_too_large' })
})

test('bare JSON of 800,000 lines is read in small pieces', () => {
  const reply = `data: 1\n\n{"a":[\n${'    1234,\n'.repeat(800_000)}1]}\n`
  const { messages, error } = outcomeOf(inPieces(reply, 1024))
  expect(error).toBeUndefined()
  expect(messages.at(-1)).toHaveProperty('a')
})

const cap = 96 * 1024 ** 2
/** Counts as well in a line that comes in pieces. */
const fieldName = 'data: '

/** A stream of one event whose data has so many characters. */
function* eventOf(characters: number): Generator<Buffer> {
  const [begin, end] = ['{"a":"', '"}']
  yield Buffer.from(`${fieldName}${begin}`)
  let left = characters - begin.length - end.length
  for (; left > 0; left -= 65_536) yield Buffer.alloc(Math.min(left, 65_536), 'x')
  yield Buffer.from(`${end}\n\n`)
}

test('an event whose line has 96 MiB is delivered, and one with a character more of data is not', () => {
  const { messages, error } = outcomeOf([...eventOf(cap - fieldName.length)])
  expect(error).toBeUndefined()
  expect((messages[0] as { readonly a: string }).a.length).toBe(cap - fieldName.length - 8)
  expect(outcomeOf([...eventOf(cap + 1)])).toMatchObject({ messages: [], error: 'reply_too_large' })
})

test('a line that never ends is refused at 96 MiB', () => {
  const line = Array.from({ length: 97 * 16 }, () => Buffer.alloc(65_536, 'x'))
  expect(outcomeOf([Buffer.from(fieldName), ...line])).toMatchObject({
    messages: [],
    error: 'reply_too_large',
  })
})
