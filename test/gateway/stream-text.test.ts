import { expect, test } from 'vitest'
import { ModelgateError } from '../../src/errors.ts'
import { createContentDecoder } from '../../src/gateway/generate-content/decoder.ts'
import { createResponseDecoder } from '../../src/gateway/responses/decoder.ts'
import { streamText } from '../../src/gateway/stream-text.ts'
import {
  chunk,
  end,
  flood,
  head,
  hold,
  readAll,
  reset,
  sse,
  stall,
  write,
  type ServerReply,
  type Step,
} from '../support/server-replies.ts'
import { served, textRequest, until, verdictOf, type TestGatewayOptions } from './test-gateway.ts'

const event = (value: object) => `data: ${JSON.stringify(value)}\n\n`
const delta = (words: string) => event({ type: 'response.output_text.delta', delta: words })
const completed = event({
  type: 'response.completed',
  response: { status: 'completed', usage: { total_tokens: 3 } },
})
const stop = (text: string) =>
  event({ candidates: [{ content: { parts: [{ text }] }, finishReason: 'STOP' }] })

/** A reply in chunks, with other steps between them. */
const chunked = (...steps: readonly (string | Step)[]): ServerReply => [
  readAll,
  write(head(200, { 'transfer-encoding': 'chunked' })),
  ...steps.map((step) => (typeof step === 'string' ? write(chunk(step)) : step)),
]
const whole = [write('0\r\n\r\n'), end]

interface Streaming extends TestGatewayOptions {
  readonly decoder?: typeof createResponseDecoder
  readonly flush?: () => Promise<void>
}

/** Starts to read a reply; `over` resolves with how that ended. */
async function streaming(
  reply: ServerReply,
  { decoder: create = createResponseDecoder, flush = async () => {}, ...options }: Streaming = {},
) {
  const { server, gateway } = await served([reply], options)
  const raw: string[] = []
  const decoder = create({ emit() {}, keepResponse: false, keepText: false })
  let requestId: string | null | undefined
  const receiver = {
    raw: (one: string) => void raw.push(one),
    flush,
    replied: (id: string | null) => void (requestId = id),
  }
  return {
    server,
    gateway,
    over: verdictOf(streamText(gateway, textRequest(gateway), decoder, receiver)),
    raw,
    get text() {
      return decoder.result().text
    },
    get usage() {
      return decoder.result().usage
    },
    get requestId() {
      return requestId
    },
  }
}

test('streams a text, and hands on each message as it came', async () => {
  const reply = sse([delta('Hel'), delta('lo'), completed], { headers: { 'x-request-id': 'r1' } })
  const stream = await streaming(reply)
  expect(await stream.over).toBe('ok')
  expect(stream).toMatchObject({ text: 'Hello', requestId: 'r1' })
  expect(stream.raw).toHaveLength(3)
  expect(stream.raw.join('')).toContain('"delta":"Hel"')
  expect(stream.gateway.clock.pendingTimers).toBe(0)
})

const bare = 'data: it broke\n\n'
const failure = event({ type: 'error', message: 'No.' })
const generated = createContentDecoder

// test/faults has all the others.
test.for<[what: string, ServerReply, over: string, text: string, decoder?: typeof createResponseDecoder]>([
  ['half an event after the end', sse([delta('Hello'), completed, 'data: {"ty']), 'ok', 'Hello'],
  ['an error after the end', sse([delta('Hello'), completed, failure]), '9 error_in_reply', 'Hello'],
  ['an error as plain text', sse([delta('Hel'), bare]), '9 generation_failed', 'Hel'],
  ['plain text after a certain end', sse([delta('Hello'), completed, bare]), 'ok', 'Hello'],
  ['plain text after another end', sse([stop('Hi'), bare]), '9 generation_failed', 'Hi', generated],
  ['only comments', sse([': PING\n\n']), '8 reply_not_understood', ''],
])('%s', async ([, reply, over, text, decoder = createResponseDecoder]) => {
  const stream = await streaming(reply, { decoder })
  expect(await stream.over).toBe(over)
  expect(stream.text).toBe(text)
  await until(() => stream.server.openSockets === 0)
  expect(stream.gateway.clock.pendingTimers).toBe(0)
})

test('shows each piece before the next one comes', async () => {
  const gate = Promise.withResolvers<void>()
  const stream = await streaming(chunked(delta('Hel'), hold(gate.promise), delta('lo'), completed, ...whole))
  await until(() => stream.text === 'Hel')
  gate.resolve()
  expect(await stream.over).toBe('ok')
})

test('does not wait for the end of a connection on which comments go on for ever', async () => {
  const stream = await streaming(chunked(delta('Hello') + completed, flood(chunk(': PING\n\n'))))
  await until(() => stream.usage !== null)
  for (let count = 0; count < 12; count++) await stream.gateway.clock.advance(100)
  expect(await stream.over).toBe('ok')
})

test('waits a moment for the usage that comes after the end', async () => {
  const gate = Promise.withResolvers<void>()
  const usage = event({ usageMetadata: { totalTokenCount: 3 } })
  const reply = chunked(stop('Hi'), hold(gate.promise), usage, stall)
  const stream = await streaming(reply, { decoder: createContentDecoder })
  await until(() => stream.text === 'Hi')
  await stream.gateway.clock.advance(4_900)
  gate.resolve()
  await until(() => stream.usage !== null)
  await stream.gateway.clock.advance(5_001)
  expect(await stream.over).toBe('ok')
})

test('waits for more from a gateway that names an end in every chunk', async () => {
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const [one, two] = [hold(first.promise), hold(second.promise)]
  const stream = await streaming(chunked(stop('One, '), one, stop('two, '), two, stop('three.'), ...whole), {
    decoder: createContentDecoder,
  })
  await until(() => stream.text === 'One, ')
  await stream.gateway.clock.advance(4_900)
  first.resolve()
  await until(() => stream.text === 'One, two, ')
  await stream.gateway.clock.advance(30_000)
  second.resolve()
  expect(await stream.over).toBe('ok')
  expect(stream.text).toBe('One, two, three.')
})

test('a slow healthy stream has no limit', async () => {
  const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>())
  const steps = gates.flatMap(({ promise }) => [hold(promise), delta('x')])
  const stream = await streaming(chunked(...steps, completed, ...whole), { limits: { idle: 400_000 } })
  for (const [index, gate] of gates.entries()) {
    await until(() => stream.text.length === index && stream.requestId !== undefined)
    await stream.gateway.clock.advance(299_000)
    gate.resolve()
  }
  expect(await stream.over).toBe('ok')
  expect(stream.text).toBe('xxxxx')
})

/** A receiver whose first flush takes until the gate is opened. */
function slowReceiver() {
  const gate = Promise.withResolvers<void>()
  let flushes = 0
  return { gate, flush: async () => (flushes++ === 0 ? gate.promise : undefined), begun: () => flushes > 0 }
}

test('the reader’s own slowness is no silence of the gateway', async () => {
  const { gate, flush, begun } = slowReceiver()
  const stream = await streaming(sse([delta('Hel')], { ending: 'stall' }), {
    limits: { idle: undefined },
    flush,
  })
  await until(begun)
  let over = false
  void stream.over.then(() => (over = true))
  await stream.gateway.clock.advance(900_000)
  gate.resolve()
  await stream.gateway.clock.advance(299_000)
  expect(over).toBe(false)
  await stream.gateway.clock.advance(1_001)
  expect(await stream.over).toBe('7 timeout')
})

test('a reset while the reader is slow still gives what had come', async () => {
  const { gate, flush, begun } = slowReceiver()
  const stream = await streaming(chunked(delta('a'), delta('b'), hold(gate.promise), reset), { flush })
  await until(begun)
  gate.resolve()
  expect(await stream.over).toBe('7 connection_lost')
  expect(stream.text.startsWith('a')).toBe(true)
})

test('an abort after the end has come is still an abort', async () => {
  const stream = await streaming(sse([delta('Hello'), completed], { ending: 'stall' }))
  await until(() => stream.usage !== null)
  stream.gateway.abort(new ModelgateError('interrupt', 'interrupted', 'Stopped.'))
  expect(await stream.over).toBe('130 interrupted')
})

test('the total limit passes in the stream: 7', async () => {
  const stream = await streaming(chunked(flood(chunk(delta('x')))), { limits: { total: 5_000 } })
  await until(() => stream.text !== '')
  await stream.gateway.clock.advance(5_001)
  expect(await stream.over).toBe('7 deadline')
  await until(() => stream.server.openSockets === 0)
})
