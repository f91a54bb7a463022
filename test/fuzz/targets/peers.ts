import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import type { Transform } from 'node:stream'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import * as fc from 'fast-check'
import { anyText } from '../../support/any-text.ts'
import { outcomeOf } from '../../gateway/events/outcome.ts'
import { cutAt, places } from '../arbitraries.ts'
import { target } from '../target.ts'

/** The data of each event that a reader finds; those without data are pings. */
export type Peer = (pieces: readonly Uint8Array[]) => Promise<string[]>

const readByParser: Peer = async (pieces) => {
  const text = new Blob(pieces.map((piece) => new Uint8Array(piece))).stream()
  const found: string[] = []
  const events = text.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
  for await (const { data } of events) if (data !== '') found.push(data)
  return found
}

const { EventSourceStream } = createRequire(import.meta.url)(
  'undici/lib/web/eventsource/eventsource-stream.js',
) as { EventSourceStream: new () => Transform }

const readByUndici: Peer = async (pieces) => {
  const stream = new EventSourceStream()
  for (const piece of pieces) if (piece.length > 0) stream.write(piece)
  stream.end()
  const found: string[] = []
  for await (const { options } of stream as AsyncIterable<{ options: { data: string } }>) {
    if (options.data !== '') found.push(options.data)
  }
  return found
}

/** The other readers of event streams that a Node program would take. */
export const peers: Readonly<Record<string, Peer>> = {
  'eventsource-parser': readByParser,
  undici: readByUndici,
}

const anyJson = fc
  .oneof(fc.jsonValue({ maxDepth: 2 }), anyText({ maxLength: 12 }))
  .map((value) => value as unknown)
const data = fc
  .tuple(anyJson, fc.constantFrom(0, 1), fc.constantFrom('data: ', 'data:'))
  // Data of several lines is JSON that is laid out, which its line feeds do not change.
  .map(([value, indent, field]) =>
    JSON.stringify(value, null, indent)
      .split('\n')
      .map((line) => field + line),
  )
const otherLine = fc.oneof(
  fc.constantFrom(':', ': ping', 'id: 7', 'id', 'id:\0', 'retry: 10', 'retry: soon'),
  fc.constantFrom('event: message', 'event:x'),
  fc.constantFrom('event: __proto__', 'foo: bar', 'foo', 'DATA: x', 'data x'),
)
const [before, after] = [2, 1].map((maxLength) => fc.array(otherLine, { maxLength }))
const lines = fc
  .array(fc.tuple(before!, fc.option(data, { freq: 6 }), after!), { maxLength: 6 })
  .map((events) => events.flatMap(([before, own, after]) => [...before, ...(own ?? []), ...after, '']))

const eventStream = fc
  .tuple(
    lines,
    fc.array(fc.constantFrom('\n', '\r\n', '\r'), { minLength: 1, maxLength: 7 }),
    fc.boolean(),
    fc.boolean(),
  )
  .map(([all, endings, hasMark, isUnfinished]) => {
    let text = hasMark ? '\uFEFF' : ''
    for (const [at, line] of all.entries()) {
      const ending = endings[at % endings.length]!
      // LF after CR is no blank line but the rest of the ending before.
      text += line + (line === '' && ending === '\n' && text.endsWith('\r') ? '\r\n' : ending)
    }
    return isUnfinished ? text.replace(/(?:\r\n|\r|\n)$/, '') : text
  })

const sameEvents = target({
  name: 'same-events',
  promises:
    'any event stream is read as by eventsource-parser and undici, but for a last event without a blank line',
  cost: 'moderate',
  runs: 10_000,
  input: fc.tuple(eventStream, places),
  async check([text, cuts]) {
    const pieces = cutAt(Buffer.from(text), cuts)
    const { messages, error } = outcomeOf(pieces)
    assert.equal(error, undefined)
    for (const [name, read] of Object.entries(peers)) {
      const found = (await read(pieces)).map((one) => JSON.parse(one) as unknown)
      assert.deepEqual(messages.slice(0, found.length), found, name)
      // Fault E9: the standard drops it, and with it the last message of relays that leave out the blank line.
      const lastLines = text.split(/\r\n|\r|\n/).slice(-2)
      assert.ok(messages.length <= found.length + (lastLines.join('') === '' ? 0 : 1), name)
    }
  },
})

export const peerTargets = [sameEvents]
