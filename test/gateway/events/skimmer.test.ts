import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createMessageReader } from '../../../src/gateway/events/message-reader.ts'
import { type FastPath, patternOf } from '../../../src/gateway/events/message-shape.ts'

/** Takes messages with an `n`, and nothing else that matters. */
function fastPathTo(take: (value: unknown) => void): FastPath {
  return {
    shapeOf(_, json) {
      const pattern = patternOf(json, (path) => (path === 'n' ? 'text' : 'any'))
      if (pattern === undefined) return undefined
      return {
        pattern,
        joins: false,
        take: (_text, event) => take(JSON.parse(event.slice(event.indexOf('{')))),
      }
    },
  }
}

const usual = (n: number | string) => `data: {"n":"${n}"}\n\n`
/** So many have to come before the next is taken. */
const first = [1, 2, 3, 4, 5, 6, 7, 8].map(usual).join('')

/** What comes of a stream in pieces: the values in order, however they were read, and the failure at the end. */
function readStream(pieces: readonly Buffer[], skims: boolean): { values: unknown[]; end: unknown } {
  const values: unknown[] = []
  const onMessage = (value: unknown) => void values.push(value)
  const reader = createMessageReader({ fastPath: skims ? fastPathTo(onMessage) : undefined, onMessage })
  try {
    for (const piece of [Buffer.from(first), ...pieces]) reader.push(piece)
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
  'data: {"n":"1"}',
  'data:{"n":"2"}',
  'event: some.name\ndata: {"n":"3"}',
  'event: some.name\r\ndata: {"n":"4"}',
  'id: 7\ndata: {"n":"5"}',
  'data: {"n":"6","more":[1]}',
  'event: error\ndata: {"n":"0"}',
  'data: {"n":"a\\nb"}',
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
    { numRuns: 2_000 },
  )
})

test('messages like earlier ones never reach the parser', () => {
  const parsed: unknown[] = []
  const taken: unknown[] = []
  const reader = createMessageReader({
    fastPath: fastPathTo((value) => taken.push(value)),
    onMessage: (value) => void parsed.push(value),
  })
  reader.push(Buffer.from(first))
  parsed.length = 0
  reader.push(Buffer.from(`event: x.y\r\ndata: {"n":"2"}\r\n\r\ndata: {"m":3}\n\n${usual(4)}da`))
  reader.push(Buffer.from(`ta: {"n":"5"}\n\n${usual(6)}`))
  reader.end()
  expect({ taken, parsed }).toEqual({
    taken: [{ n: '2' }, { n: '4' }, { n: '6' }],
    parsed: [{ m: 3 }, { n: '5' }],
  })
})

test('several shapes are known at a time', () => {
  const parsed: unknown[] = []
  const reader = createMessageReader({
    fastPath: fastPathTo(() => {}),
    onMessage: (value) => void parsed.push(value),
  })
  const others = ['{"n":"a","a":1}', '{"b":[1,{"c":"d"}],"n":"a"}'].map((json) => `data: ${json}\n\n`)
  reader.push(Buffer.from(first + others.map((one) => one.repeat(8)).join('')))
  parsed.length = 0
  reader.push(Buffer.from((usual(1) + others.join('')).repeat(50)))
  reader.end()
  expect(parsed).toEqual([])
})
