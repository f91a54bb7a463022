import { expect, test } from 'vitest'
import type { TextEvent } from '../../src/events/text.ts'
import { ModelgateError } from '../../src/errors.ts'
import { createContentDecoder } from '../../src/gateway/generate-content/decoder.ts'
import { createResponseDecoder } from '../../src/gateway/responses/decoder.ts'
import { streamText } from '../../src/gateway/stream-text.ts'
import { localServer } from '../support/local-server.ts'
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
} from '../support/server-replies.ts'
import { testGateway, textRequest, until, type TestGatewayOptions } from './test-gateway.ts'

const event = (value: object) => `data: ${JSON.stringify(value)}\n\n`
const delta = (words: string) => event({ type: 'response.output_text.delta', delta: words })
const completed = event({
  type: 'response.completed',
  response: { status: 'completed', usage: { total_tokens: 3 } },
})
const chunked = head(200, { 'transfer-encoding': 'chunked' })

interface Streaming extends TestGatewayOptions {
  readonly decoder?: typeof createResponseDecoder
  readonly flush?: () => Promise<void>
}

/** Starts to read a reply; `over` resolves with `ok` or with exit code and code. */
async function streaming(
  reply: ServerReply,
  { decoder: create = createResponseDecoder, flush, ...options }: Streaming = {},
) {
  const server = await localServer([reply])
  const gateway = testGateway(server.url, options)
  const events: TextEvent[] = []
  const raw: string[] = []
  const decoder = create({ emit: (one) => events.push(one), keepResponse: false, keepText: false })
  let requestId: string | null | undefined
  const over = streamText(gateway, textRequest(gateway), decoder, {
    raw: (one) => raw.push(one),
    flush: flush ?? (() => Promise.resolve()),
    replied: (id) => (requestId = id),
  }).then(
    () => 'ok',
    (error: unknown) => {
      if (!(error instanceof ModelgateError)) throw error
      return `${error.exitCode} ${error.code}`
    },
  )
  return {
    server,
    gateway,
    over,
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

/** Replies and what they amount to, with the text that arrived; test/faults has all the others. */
const replies: readonly (readonly [string, ServerReply, string, string])[] = [
  ['half an event after the terminal one', sse([delta('Hello'), completed, 'data: {"ty']), 'ok', 'Hello'],
  [
    'an error after the terminal event',
    sse([delta('Hello'), completed, event({ type: 'error', message: 'No.' })]),
    '9 error_in_reply',
    'Hello',
  ],
  ['an error as plain text', sse([delta('Hel'), 'data: upstream error\n\n']), '9 generation_failed', 'Hel'],
  ['only comments', sse([': PING\n\n']), '8 reply_not_understood', ''],
]

test.for(replies)('%s', async ([, reply, expected, arrived]) => {
  const stream = await streaming(reply)
  expect(await stream.over).toBe(expected)
  expect(stream.text).toBe(arrived)
  await until(() => stream.server.openSockets === 0)
  expect(stream.gateway.clock.pendingTimers).toBe(0)
})

test('shows each piece before the next one comes', async () => {
  const gate = Promise.withResolvers<void>()
  const stream = await streaming([
    readAll,
    write(chunked),
    write(chunk(delta('Hel'))),
    hold(gate.promise),
    write(chunk(delta('lo') + completed)),
    write('0\r\n\r\n'),
    end,
  ])
  await until(() => stream.text === 'Hel')
  gate.resolve()
  expect(await stream.over).toBe('ok')
})

test('does not wait for a connection that stays open after the end', async () => {
  const stream = await streaming([readAll, write(chunked), write(chunk(delta('Hello') + completed)), stall])
  await until(() => stream.usage !== null)
  await stream.gateway.clock.advance(1_001)
  expect(await stream.over).toBe('ok')
  await until(() => stream.server.openSockets === 0)
})

test('nor for one on which comments go on for ever', async () => {
  const stream = await streaming([
    readAll,
    write(chunked),
    write(chunk(delta('Hello') + completed)),
    flood(chunk(': PING\n\n')),
  ])
  await until(() => stream.usage !== null)
  for (let count = 0; count < 12; count++) await stream.gateway.clock.advance(100)
  expect(await stream.over).toBe('ok')
})

test('words of the gateway after a certain end are no failure, after another they are', async () => {
  const bare = 'data: it broke\n\n'
  const certain = await streaming(sse([delta('Hello'), completed, bare]))
  expect([await certain.over, certain.text]).toEqual(['ok', 'Hello'])
  const stop = event({ candidates: [{ content: { parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }] })
  const repeated = await streaming(sse([stop, bare]), { decoder: createContentDecoder })
  expect(await repeated.over).toBe('9 generation_failed')
})

test('waits a moment for the usage that comes after the end', async () => {
  const gate = Promise.withResolvers<void>()
  const stop = event({ candidates: [{ content: { parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }] })
  const usage = event({ usageMetadata: { totalTokenCount: 3 } })
  const stream = await streaming(
    [readAll, write(chunked), write(chunk(stop)), hold(gate.promise), write(chunk(usage)), stall],
    { decoder: createContentDecoder },
  )
  await until(() => stream.text === 'Hi')
  await stream.gateway.clock.advance(4_900)
  gate.resolve()
  await until(() => stream.usage !== null)
  await stream.gateway.clock.advance(5_001)
  expect(await stream.over).toBe('ok')
})

test('waits for more from a gateway that names an end in every chunk', async () => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
  const words = (text: string) =>
    write(chunk(event({ candidates: [{ content: { parts: [{ text }] }, finishReason: 'STOP' }] })))
  const stream = await streaming(
    [
      readAll,
      write(chunked),
      words('One, '),
      hold(gates[0].promise),
      words('two, '),
      hold(gates[1].promise),
      words('three.'),
      write('0\r\n\r\n'),
      end,
    ],
    { decoder: createContentDecoder },
  )
  await until(() => stream.text === 'One, ')
  await stream.gateway.clock.advance(4_900)
  gates[0].resolve()
  await until(() => stream.text === 'One, two, ')
  await stream.gateway.clock.advance(30_000)
  gates[1].resolve()
  expect(await stream.over).toBe('ok')
  expect(stream.text).toBe('One, two, three.')
})

test('a slow healthy stream has no limit', async () => {
  const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>())
  const stream = await streaming(
    [
      readAll,
      write(chunked),
      ...gates.flatMap(({ promise }) => [hold(promise), write(chunk(delta('x')))]),
      write(chunk(completed)),
      write('0\r\n\r\n'),
      end,
    ],
    { limits: { idle: 400_000 } },
  )
  for (const [index, gate] of gates.entries()) {
    await until(() => stream.text.length === index && stream.requestId !== undefined)
    await stream.gateway.clock.advance(299_000)
    gate.resolve()
  }
  expect(await stream.over).toBe('ok')
  expect(stream.text).toBe('xxxxx')
})

test('the reader’s own slowness is no silence of the gateway', async () => {
  const gate = Promise.withResolvers<void>()
  let flushes = 0
  const stream = await streaming([readAll, write(chunked), write(chunk(delta('Hel'))), stall], {
    limits: { idle: undefined },
    flush: () => (flushes++ === 0 ? gate.promise : Promise.resolve()),
  })
  await until(() => flushes === 1)
  let over = false
  void stream.over.then(() => (over = true))
  await stream.gateway.clock.advance(900_000)
  gate.resolve()
  await stream.gateway.clock.advance(299_000)
  expect(over).toBe(false)
  await stream.gateway.clock.advance(1_001)
  expect(await stream.over).toBe('7 timeout')
})

test('an abort after the end has come is still an abort', async () => {
  const stream = await streaming([readAll, write(chunked), write(chunk(delta('Hello') + completed)), stall])
  await until(() => stream.usage !== null)
  stream.gateway.abort(new ModelgateError('interrupt', 'interrupted', 'Stopped.'))
  expect(await stream.over).toBe('130 interrupted')
})

test('a receiver that fails ends the exchange', async () => {
  const failure = new ModelgateError('io', 'write_failed', 'No space.')
  const stream = await streaming([readAll, write(chunked), flood(chunk(delta('x')))], {
    flush: () => Promise.reject(failure),
  })
  expect(await stream.over).toBe('10 write_failed')
  await until(() => stream.server.openSockets === 0)
})

test('the total limit passes in the stream: 7', async () => {
  const stream = await streaming([readAll, write(chunked), flood(chunk(delta('x')))], {
    limits: { total: 5_000 },
  })
  await until(() => stream.text !== '')
  await stream.gateway.clock.advance(5_001)
  expect(await stream.over).toBe('7 deadline')
})

test('a reset while the reader is slow still gives what had come', async () => {
  const gate = Promise.withResolvers<void>()
  let flushes = 0
  const reply: ServerReply = [
    readAll,
    write(chunked),
    write(chunk(delta('a'))),
    write(chunk(delta('b'))),
    hold(gate.promise),
    reset,
  ]
  const stream = await streaming(reply, { flush: () => (flushes++ === 0 ? gate.promise : Promise.resolve()) })
  await until(() => flushes > 0)
  gate.resolve()
  expect(await stream.over).toBe('7 connection_lost')
  expect(stream.text.startsWith('a')).toBe(true)
})
