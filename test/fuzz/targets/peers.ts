import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import type { Transform } from 'node:stream'
import { GoogleGenAI } from '@google/genai'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import * as fc from 'fast-check'
import { OpenAI } from 'openai'
import { createMessageReader } from '../../../src/gateway/events/message-reader.ts'
import { createContentDecoder } from '../../../src/gateway/generate-content/decoder.ts'
import { createResponseDecoder } from '../../../src/gateway/responses/decoder.ts'
import { anyText } from '../../support/any-text.ts'
import { outcomeOf } from '../../gateway/events/outcome.ts'
import { cutAt, places } from '../arbitraries.ts'
import { serve } from '../golden-replies.ts'
import { target } from '../target.ts'

/** The data of each event that a reader finds; those without data are pings. */
export type Peer = (pieces: readonly Uint8Array[]) => Promise<string[]>

async function readByParser(pieces: readonly Uint8Array[]): Promise<string[]> {
  const text = new Blob(pieces.map((piece) => new Uint8Array(piece))).stream()
  const found: string[] = []
  const events = text.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
  for await (const { data } of events) if (data !== '') found.push(data)
  return found
}

const { EventSourceStream } = createRequire(import.meta.url)(
  'undici/lib/web/eventsource/eventsource-stream.js',
) as { EventSourceStream: new () => Transform }

async function readByUndici(pieces: readonly Uint8Array[]): Promise<string[]> {
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
  fc.constantFrom(
    ':',
    ': ping',
    'id: 7',
    'id',
    'id:\0',
    'retry: 10',
    'retry: soon',
    'event: message',
    'event:x',
  ),
  fc.constantFrom('event: __proto__', 'foo: bar', 'foo', 'DATA: x', 'data x'),
)
const event = fc.tuple(
  fc.array(otherLine, { maxLength: 2 }),
  fc.option(data, { freq: 6 }),
  fc.array(otherLine, { maxLength: 1 }),
)
const lines = fc
  .array(event, { maxLength: 6 })
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
      const hasBlankLine =
        text
          .split(/\r\n|\r|\n/)
          .slice(-2)
          .join('') === ''
      assert.ok(messages.length <= found.length + (hasBlankLine ? 0 : 1), name)
    }
  },
})

const deltas = fc.array(anyText({ maxLength: 12 }), { maxLength: 8 })
const endings = fc.constantFrom('\n', '\r\n')
const ends = fc.constantFrom('completed', 'incomplete')

/** The text, and why it ended, that the program reads from these pieces. */
function readByProgram(create: typeof createResponseDecoder, pieces: readonly Uint8Array[]) {
  let text = ''
  const emit: Parameters<typeof create>[0]['emit'] = (one) =>
    void (one.type === 'text-delta' && (text += one.text))
  const decoder = create({ emit, keepResponse: true, keepText: true })
  const reader = createMessageReader({ onMessage: (value) => decoder.message(value) })
  for (const piece of pieces) reader.push(piece)
  reader.end()
  return { text, reason: decoder.result().raw_finish_reason }
}

/** The wire of an event stream. */
function wireOf(events: readonly object[], end: string): Buffer {
  const texts = events.map((one) => {
    const name = 'type' in one ? `event: ${String(one.type)}${end}` : ''
    return `${name}data: ${JSON.stringify(one)}${end}${end}`
  })
  return Buffer.from(texts.join(''))
}

async function received<Value>(
  pieces: readonly Uint8Array[],
  ask: (url: string) => Promise<Value>,
): Promise<Value> {
  const server = await serve((_, __, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const piece of pieces) if (piece.length > 0) response.write(piece)
    response.end()
  })
  return ask(server.url).finally(() => server.close())
}

const openai = target({
  name: 'same-as-openai',
  promises: 'a streamed response has the text and the end that the client of OpenAI reads',
  cost: 'dear',
  input: fc.record({ deltas, end: endings, status: ends, cuts: places }),
  async check({ deltas: texts, end, status, cuts }) {
    const item = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' }
    const content = [{ type: 'output_text', text: texts.join(''), annotations: [] }]
    const details = status === 'incomplete' ? { reason: 'max_output_tokens' } : null
    const response = {
      id: 'resp_1',
      object: 'response',
      status,
      output: [{ ...item, content }],
      incomplete_details: details,
    }
    const events = [
      { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item: { ...item, content: [] } },
      ...texts.map((delta) => ({
        type: 'response.output_text.delta',
        item_id: 'msg_1',
        output_index: 0,
        content_index: 0,
        delta,
      })),
      { type: `response.${status}`, response },
    ]
    const pieces = cutAt(wireOf(events, end), cuts)
    const theirs = await received(pieces, async (url) => {
      const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0 })
      const read = { text: '', reason: '' }
      for await (const one of await client.responses.create({ model: 'm', input: 'Hi', stream: true })) {
        if (one.type === 'response.output_text.delta') read.text += one.delta
        if (one.type === 'response.completed' || one.type === 'response.incomplete') {
          read.reason = one.response.incomplete_details?.reason ?? one.response.status!
        }
      }
      return read
    })
    const ours = readByProgram(createResponseDecoder, pieces)
    assert.deepEqual(ours, theirs)
    assert.equal(ours.text, texts.join(''))
  },
})

const genai = target({
  name: 'same-as-genai',
  promises: 'generated content has the text and the finish reason that the client of Google reads',
  cost: 'dear',
  input: fc.record({
    deltas,
    end: endings,
    reason: fc.constantFrom('STOP', 'MAX_TOKENS', 'SAFETY'),
    cuts: places,
  }),
  async check({ deltas: texts, end, reason, cuts }) {
    const chunk = (text: string, finishReason?: string) => ({
      candidates: [
        { content: { role: 'model', parts: [{ text }] }, index: 0, ...(finishReason && { finishReason }) },
      ],
    })
    const pieces = cutAt(wireOf([...texts.map((text) => chunk(text)), chunk('!', reason)], end), cuts)
    const theirs = await received(pieces, async (url) => {
      const client = new GoogleGenAI({ apiKey: 'any', httpOptions: { baseUrl: url } })
      const read = { text: '', reason: '' }
      for await (const one of await client.models.generateContentStream({ model: 'm', contents: 'Hi' })) {
        read.text += one.text ?? ''
        read.reason = one.candidates?.[0]?.finishReason ?? read.reason
      }
      return read
    })
    const ours = readByProgram(createContentDecoder, pieces)
    assert.deepEqual(ours, theirs)
    assert.equal(ours.text, `${texts.join('')}!`)
  },
})

export const peerTargets = [sameEvents, openai, genai]
