import { expect, test } from 'vitest'
import { outcomeOf } from './outcome.ts'
import { inPieces } from '../../support/server-replies.ts'

/** An event of many lines, some of them without data, in pieces of a size that is no multiple of anything. */
const many = 150_000
const lines = Array.from({ length: many }, (_, index) => `data: ${index},`)
const value = { type: 'x', list: Array.from({ length: many + 1 }, (_, index) => index) }
const long = ['data: {"type":"x","list":[', ...lines, `data: ${many}]}`]

test('an event keeps its name over many lines', () => {
  const comments = Array.from({ length: 60_000 }, () => ': keep-alive')
  for (const [before, after] of [
    [[], []],
    [comments, []],
    [[], comments],
    [comments, comments],
  ] as const) {
    const reply = ['event: error', ...before, ...long, ...after, '', ''].join('\n')
    expect(outcomeOf(inPieces(reply, 4_099)).messages).toEqual([{ error: value }])
  }
})

/** A message that is cut over so many events, none of which is JSON by itself. */
function cutOver(count: number, filler = ''): string {
  const parts = Array.from({ length: count }, () => `${filler}x","x`)
  parts[0] = `{"a":["${filler}`
  parts[count - 1] = '"]}'
  return parts.map((part) => `data: ${part}\n\n`).join('')
}

test('a message may be cut over eight events, and not over nine', () => {
  expect(outcomeOf([Buffer.from(cutOver(8))])).toMatchObject({
    messages: [{ a: expect.anything() as unknown }],
  })
  expect(outcomeOf([Buffer.from(cutOver(9))])).toMatchObject({ messages: [], error: 'reply_not_understood' })
})

test('the pieces of a message count together against its limit', () => {
  const reply = [Buffer.from(cutOver(4, 'x'.repeat(400)))]
  expect(outcomeOf(reply, 2_000)).toMatchObject({ messages: [{}], error: undefined })
  expect(outcomeOf(reply, 1_000)).toMatchObject({ messages: [], error: 'reply_too_large' })
})
