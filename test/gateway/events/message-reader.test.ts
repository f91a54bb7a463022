import { expect, test } from 'vitest'
import { createMessageReader } from '../../../src/gateway/message-reader.ts'
import { inPieces } from '../../support/server-replies.ts'
import { outcomeOf } from './outcome.ts'

const limit = 1000

/** Replies with one thing that is larger than the limit, in each place where text is kept. */
const oversized = {
  'an event': `data: "${'x'.repeat(2 * limit)}"\n\n`,
  'a line without an end': `data: "${'x'.repeat(2 * limit)}`,
  'a comment without an end': `: ${'x'.repeat(2 * limit)}`,
  'an event of many lines': `data: [\n${'data: 1,\n'.repeat(limit)}`,
  'a JSON object': `{"a":"${'x'.repeat(2 * limit)}"}`,
  'a JSON object without an end': `{"a":"${'x'.repeat(2 * limit)}`,
  'an object after others': `[{},{},{"a":"${'x'.repeat(2 * limit)}"}]`,
  'bare JSON after events': `data: {}\n\n{\n${'"a": 1,\n'.repeat(limit)}`,
  'a message over many events': `data: ["${'x'.repeat(limit / 2)}\n\n`.repeat(3),
}

test.for(Object.entries(oversized))('stops at the size limit: %s', ([, reply]) => {
  for (const size of [1, 7, 64, reply.length]) {
    expect(outcomeOf(inPieces(reply, size), limit).error, `in pieces of ${size}`).toBe('reply_too_large')
  }
})

test('counts each message by itself against the limit', () => {
  const many = `data: {"a":"${'x'.repeat(limit / 2)}"}\n\n`.repeat(20)
  const array = `[${`{"a":"${'x'.repeat(limit / 2)}"},`.repeat(20)}{}]`
  for (const size of [1, 100, many.length]) {
    expect(outcomeOf(inPieces(many, size), limit).messages).toHaveLength(20)
    expect(outcomeOf(inPieces(array, size), limit).messages).toHaveLength(21)
  }
})

test('keeps nothing of endless blanks', () => {
  const blanks = Buffer.from(' \r\n'.repeat(10_000))
  // Quadratic work would not end within the limit of this test.
  const pieces = [...Array.from({ length: 3_000 }, () => blanks), Buffer.from('data: 1\n\n')]
  expect(outcomeOf(pieces).messages).toEqual([1])
})

/** 8 MiB in pieces of 1 KiB: work that grows with the square would not end within the limit of this test. */
const large = 'x'.repeat(8 * 1_048_576)
test.for([
  ['an event', `data: {"a":"${large}"}\n\n`],
  ['a JSON object', `{"a":"${large}"}`],
  ['an event of many lines', `data: {"a":[\n${'data: 1234,\n'.repeat(large.length / 12)}data: 1]}\n\n`],
])('reads a large message in small pieces: %s', ([, reply]) => {
  const { messages, error } = outcomeOf(inPieces(reply!, 1024))
  expect(error).toBeUndefined()
  expect(messages.at(-1)).toHaveProperty('a')
})

/** Reads a reply in pieces of this size. */
function read(reply: string, size: number): void {
  const reader = createMessageReader({ onMessage() {} })
  for (const piece of inPieces(reply, size)) reader.push(piece)
  reader.end()
}

test.for([1, 5, 1000])('tells the title of an HTML page that comes in pieces of %i', (size) => {
  const page = '<html>\n<head><title>\n 502 Bad Gateway </title></head>'
  expect(() => read(page, size)).toThrow('The gateway answered with an HTML page, "502 Bad Gateway".')
})

test('does not wait for the end of an endless HTML page', () => {
  const reader = createMessageReader({ onMessage() {} })
  const push = () => {
    for (let count = 0; count < 1_000; count++) reader.push(Buffer.from('<p>no title here</p>'))
  }
  expect(push).toThrow('The gateway answered with an HTML page.')
})

test.for(['data: {"a":"my prompt" oops}\n\n', '{"a":"my prompt" oops}', 'data: {"a":"my prompt\n\n'])(
  'repeats nothing of a message that cannot be read: %j',
  (reply) => {
    expect(() => read(reply, reply.length)).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('my prompt') as string }),
    )
  },
)

test('joins a message cut anywhere over two events', () => {
  const value = { 'a:b': [true, null, -1.5, { c: 'x: y' }], d: '[DONE]' }
  const json = JSON.stringify(value)
  for (let at = 1; at < json.length; at++) {
    const reply = `data: ${json.slice(0, at)}\n\ndata: ${json.slice(at)}\n\n`
    const whole = { messages: [value], done: false, error: undefined }
    expect(outcomeOf([Buffer.from(reply)]), `cut at ${at}`).toEqual(whole)
  }
})

test.for([
  ['an object', 'event: error\ndata: {"code":"x","message":"m"}\n\n', { error: { code: 'x', message: 'm' } }],
  ['an empty object', 'event: error\ndata: {}\n\n', { error: {} }],
  ['text', 'event: upstream_error\ndata: "It broke."\n\n', { error: 'It broke.' }],
  ['nothing', 'event: error\ndata: null\n\n', { error: true }],
  ['a type', 'event: error\ndata: {"type":"error","message":"m"}\n\n', { type: 'error', message: 'm' }],
  ['an error', 'event: error\ndata: {"error":"m"}\n\n', { error: 'm' }],
  [
    'a type of its own',
    'event: error\ndata: {"type":"overloaded","message":"m"}\n\n',
    { error: { type: 'overloaded', message: 'm' } },
  ],
  [
    'an empty error beside its words',
    'event: error\ndata: {"error":null,"message":"m"}\n\n',
    { error: { error: null, message: 'm' } },
  ],
  ['another name', 'event: errors\ndata: {"message":"m"}\n\n', { message: 'm' }],
] as const)('takes what an event named error brings for one: %s', ([, reply, message]) => {
  for (const size of [1, 100]) expect(outcomeOf(inPieces(reply, size)).messages).toEqual([message])
})

test.each(['d', 'da', 'dat', 'data', 'data:', 'data: '])('a stream that ends in %j was cut', (rest) => {
  for (const [before, messages] of [
    ['', []],
    ['data: {"a":1}\n\n', [{ a: 1 }]],
  ] as const) {
    const cut = { messages, done: false, error: 'connection_lost' }
    expect(outcomeOf([Buffer.from(before + rest)])).toEqual(cut)
  }
})
