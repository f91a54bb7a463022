import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createMessageReader } from '../../../src/gateway/events/message-reader.ts'
import type { FastPath } from '../../../src/gateway/events/json-reader.ts'

/** What comes of a stream in pieces: the values in order, however they were read, and the failure at the end. */
function readStream(pieces: readonly Buffer[], skims: boolean): { values: unknown[]; end: unknown } {
  const values: unknown[] = []
  const fastPath: FastPath = {
    pattern: String.raw`\{"n": ?(\d)\}`,
    take: ([, digit]) => void values.push({ n: Number(digit) }),
  }
  const reader = createMessageReader({
    fastPath: skims ? fastPath : undefined,
    onMessage: (value) => void values.push(value),
  })
  try {
    for (const piece of pieces) reader.push(piece)
    reader.end()
    return { values, end: reader.done }
  } catch (error) {
    return { values, end: (error as Error).message }
  }
}

function cut(text: string, at: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text)
  const places = [0, ...at.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length]
  return places.slice(1).map((place, index) => bytes.subarray(places[index], place))
}

const event = fc.constantFrom(
  'data: {"n":1}',
  'data:{"n": 2}',
  'event: some.name\ndata: {"n":3}',
  'event: some.name\r\ndata: {"n":4}',
  'id: 7\ndata: {"n":5}',
  'data: {"n":6,"more":[1]}',
  'data: {"text":"a\\nb"}',
  'data: {"n":\ndata: 7}',
  // A message that a relay cut over two events (quirk 5).
  'data: {"half":\n\ndata: {"n":8}}',
  'data: {"half":"\n\ndata: {\\"n\\":9}"}',
  // JSON without `data:` in the middle.
  '{"bare":\ndata: {"n":1}',
  '{"bare":2}',
  ': a comment',
  'data: : a comment',
  'data: [DONE]',
  'data: it broke',
  '',
)
const ending = fc.constantFrom('\n\n', '\n\n', '\n\n', '\r\n\r\n', '\r\r', '\n', '\r\n', '')

test('a stream says the same whether its usual events are skimmed or parsed, however it is cut', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(event, ending), { maxLength: 8 }),
      fc.array(fc.nat(400), { maxLength: 6 }),
      (events, places) => {
        const pieces = cut(events.flat().join(''), places)
        expect(readStream(pieces, true)).toEqual(readStream(pieces, false))
      },
    ),
    { numRuns: 5_000 },
  )
})

test('usual events never reach the parser', () => {
  const parsed: unknown[] = []
  const taken: string[] = []
  const reader = createMessageReader({
    fastPath: { pattern: String.raw`\{"n":(\d)\}`, take: ([, digit]) => void taken.push(digit!) },
    onMessage: (value) => void parsed.push(value),
  })
  reader.push(Buffer.from('data: {"n":1}\n\nevent: x.y\r\ndata: {"n":2}\r\n\r\ndata: {"m":3}\n\nda'))
  reader.push(Buffer.from('ta: {"n":4}\n\ndata: {"n":5}\n\n'))
  reader.end()
  expect({ taken, parsed }).toEqual({ taken: ['1', '2', '5'], parsed: [{ m: 3 }, { n: 4 }] })
})
