import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { download } from '../../src/gateway/download/download.ts'
import { receiveImages } from '../../src/gateway/images/image-reply.ts'
import type { Gateway } from '../../src/gateway/gateway.ts'
import { readBody } from '../../src/gateway/send-request.ts'
import { createResponseDecoder } from '../../src/gateway/responses/decoder.ts'
import { streamText } from '../../src/gateway/stream-text.ts'
import { lookUpJob, operationRequest, startJob } from '../../src/gateway/videos/job-requests.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { head, hold, readAll, stall, write } from '../support/server-replies.ts'
import { createImageResults } from './images/album.ts'
import { served, textRequest, until, verdictOf } from './test-gateway.ts'

test('256 bytes a second are progress, and less are none', async () => {
  for (const [bytes, isStalled] of [
    [2_560, false],
    [2_559, true],
  ] as const) {
    const clock = fakeClock()
    const [due, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    async function* body() {
      await due.promise
      yield Buffer.alloc(bytes)
      await closed.promise
    }
    const reply = { body: body(), close: () => closed.resolve() }
    const stalled = (seconds: number) => new Error(`${seconds} s`)
    const chunks = readBody({ clock, limits: { progress: 10_000 } }, reply, { stalled })
    const first = chunks.next()
    await clock.advance(9_000)
    due.resolve()
    await first
    const end = chunks.next().then(
      () => 'closed',
      (error: Error) => error.message,
    )
    await clock.advance(1_001)
    if (!isStalled) closed.resolve()
    expect(await end).toBe(isStalled ? '10 s' : 'closed')
    expect(clock.pendingTimers).toBe(0)
  }
})

const askText = (gateway: Gateway) => {
  const decoder = createResponseDecoder({ emit() {}, keepResponse: false, keepText: false })
  return streamText(gateway, textRequest(gateway), decoder, { flush: async () => {} })
}
const sink = { write: async () => {}, restart: async () => {} }

/** How a kind of reply begins, with a string that goes on; and how it is asked for. */
const kinds: readonly {
  readonly name: string
  readonly begin: string
  readonly limitMs?: number
  readonly problem?: string
  readonly ask: (gateway: Gateway) => Promise<unknown>
}[] = [
  {
    name: 'an image as base64',
    begin: '{"created":1,"data":[{"b64_json":"iVBORw0KGgo',
    ask: (gateway) => receiveImages(gateway, textRequest(gateway, { kind: 'create' }), createImageResults()),
  },
  {
    name: 'a text as one document',
    begin: '{"object":"response","status":"completed","output":[{"type":"message","content":[{"text":"',
    ask: askText,
  },
  {
    name: 'an event of a stream',
    begin: 'data: {"type":"response.output_text.delta","delta":"',
    ask: askText,
  },
  {
    name: 'the reply to an order of a video',
    begin: '{"done":false,"metadata":"',
    ask: (gateway) =>
      startJob(gateway, operationRequest(gateway, 'veo', { body: {}, idempotencyKey: 'key' }), 'operation'),
  },
  {
    name: 'a look-up, which has a limit of its own',
    begin: '{"id":"video_1","status":"',
    limitMs: 60_000,
    problem: '5 timeout',
    ask: (gateway) => lookUpJob(gateway, { kind: 'video', id: 'video_1' }),
  },
  {
    name: 'a download',
    begin: 'a picture',
    problem: '5 timeout',
    ask: (gateway) => download(gateway, '/a.png', sink, { allowPrivate: true }),
  },
]

test.for(
  kinds.flatMap(({ limitMs = 300_000, problem = '7 timeout', ...kind }) => [
    { ...kind, limitMs, end: problem, more: 'A', what: 'that drips gets nowhere' },
    {
      ...kind,
      limitMs,
      end: 'goes on',
      more: 'A'.repeat((256 * limitMs) / 1000),
      what: 'that is slow goes on',
    },
  ]),
)('$name $what', async ({ begin, ask, limitMs, more, end }) => {
  const gate = Promise.withResolvers<void>()
  const begun = `${head(200)}${begin}`
  const { server, gateway } = await served(
    [[readAll, write(begun), hold(gate.promise), write(more), stall]],
    { limits: { idle: undefined }, policy: { mode: 'never' } },
  )
  let outcome = 'goes on'
  void verdictOf(ask(gateway)).then(
    (verdict) => (outcome = verdict),
    (error: unknown) => (outcome = String(error)),
  )
  const arrived = async (bytes: number) => {
    await until(() => server.taken === bytes)
    // From the system to the reader.
    for (let turn = 0; turn < 200; turn++) await setImmediate()
  }
  await arrived(begun.length)
  // Two thirds of the limit pass, then more comes, then two thirds again.
  await gateway.clock.advance((limitMs * 2) / 3)
  gate.resolve()
  await arrived(begun.length + more.length)
  await gateway.clock.advance((limitMs * 2) / 3)
  for (let turn = 0; turn < 200 && outcome === 'goes on'; turn++) await setImmediate()
  expect(outcome).toBe(end)
  gateway.abort(new Error('the test is over'))
  await until(() => outcome !== 'goes on')
})
