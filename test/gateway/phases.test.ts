import { expect, test } from 'vitest'
import { ModelgateError, FileError } from '../../src/errors.ts'
import { jsonBody, sendRequest } from '../../src/gateway/send-request.ts'
import type { RequestBody } from '../../src/gateway/exchange.ts'
import { canMakeCertificates, makeCertificate } from '../support/certificate.ts'
import { localServer } from '../support/local-server.ts'
import {
  chunk,
  deaf,
  end,
  flood,
  head,
  hear,
  hold,
  json,
  readAll,
  readHead,
  sip,
  stall,
  text,
  write,
  type ServerReply,
} from '../support/server-replies.ts'
import { outcomeOf, served, testGateway, textOf, textRequest, until } from './test-gateway.ts'
import { tunnelProxy } from './tunnel-proxy.ts'

/** A body that no system's buffers hold. */
const hugeBody = jsonBody('x'.repeat(32 * 1_048_576))

test('a whole reply', async () => {
  const { server, gateway } = await served([json({ a: 1 }, { headers: { 'x-request-id': 'r1' } })])
  const reply = await sendRequest(gateway, textRequest(gateway))
  expect(reply).toMatchObject({ status: 200, requestId: 'r1' })
  expect(await textOf(reply)).toBe('{"a":1}')
  expect(server.requests[0]).toMatchObject({
    line: 'POST /v1/responses HTTP/1.1',
    body: Buffer.from('{"input":"Hello"}'),
    headers: {
      authorization: 'Bearer test-key-0123456789',
      accept: 'text/event-stream',
      'accept-encoding': 'identity',
      'content-type': 'application/json',
      'content-length': '17',
      'idempotency-key': 'one-key-for-all',
      connection: 'close',
    },
  })
  expect(gateway.clock.pendingTimers).toBe(0)
})

test('a switch of protocols is no answer', async () => {
  const reply = [readAll, write(head(101, { upgrade: 'x', connection: 'upgrade' })), end]
  const { gateway } = await served([reply])
  expect(await outcomeOf(gateway)).toMatchObject({ exitCode: 7, code: 'connection_lost' })
})

test('silence in the body ends at the idle limit, and every byte moves it', async () => {
  const gate = Promise.withResolvers<void>()
  const { server, gateway } = await served([
    [readAll, write(head(200)), write('a'), hold(gate.promise), write('b'), stall],
  ])
  const { body } = await sendRequest(gateway, textRequest(gateway))
  const chunks = body[Symbol.asyncIterator]()
  expect(String((await chunks.next()).value)).toBe('a')
  await gateway.clock.advance(59_000)
  gate.resolve()
  expect(String((await chunks.next()).value)).toBe('b')
  await gateway.clock.advance(59_000)
  expect(server.openSockets).toBe(1)
  await Promise.all([
    expect(chunks.next()).rejects.toMatchObject({ stage: 'stream', fault: 'timeout' }),
    gateway.clock.advance(1_001),
  ])
  await until(() => server.openSockets === 0)
})

/** A server that takes 2 MiB each time that it is told to, and answers when it has been told often enough. */
async function sippingServer(tls?: { readonly key: string; readonly cert: string }) {
  const sips = Array.from({ length: 5 }, () => Promise.withResolvers<void>())
  const reply = [deaf, ...sips.flatMap(({ promise }) => [hold(promise), sip(2 * 1_048_576)]), hear]
  const server = await localServer([[readHead, ...reply, ...text('ok')]], tls === undefined ? {} : { tls })
  const turns = sips.values()
  const takeSome = async () => {
    const before = server.received
    turns.next().value!.resolve()
    await until(() => server.received >= before + 2 * 1_048_576)
  }
  return { server, takeSome, count: sips.length }
}

test.for(['plain', 'TLS', 'TLS through a tunnel'] as const)(
  'an upload is not at rest while bytes of one chunk move: %s',
  async (way, { skip }) => {
    skip(way !== 'plain' && !canMakeCertificates, 'needs openssl')
    const tls = way === 'plain' ? undefined : makeCertificate('DNS:gateway.test,IP:127.0.0.1')
    const { server, takeSome, count } = await sippingServer(tls)
    const tunnel = way === 'TLS through a tunnel' ? await tunnelProxy() : undefined
    const gateway = testGateway(tunnel === undefined ? server.url : `https://gateway.test:${server.port}`, {
      policy: { mode: 'never' },
      ...(tls === undefined ? {} : { ca: tls.cert }),
      ...(tunnel === undefined ? {} : { proxies: { http: undefined, https: tunnel.url, except: '' } }),
    })
    const outcome = outcomeOf(gateway, textRequest(gateway, { body: hugeBody }))
    let hasEnded = false
    void outcome.then(() => (hasEnded = true))
    await until(() => (server.requests[0]?.line ?? '') !== '')
    for (let turn = 0; turn < count; turn++) {
      await gateway.clock.advance(50_000)
      expect(hasEnded).toBe(false)
      await takeSome()
    }
    expect(gateway.clock.monotonic()).toBe(250_000)
    expect(await outcome).toBe('ok')
    expect(server.requests[0]!.complete).toBe(true)
  },
)

const announced = (length: number, chunks: RequestBody['chunks']): RequestBody => ({ length, chunks })
function failing(error: Error): RequestBody['chunks'] {
  return function* () {
    yield Buffer.from('12345')
    throw error
  }
}
const unread = Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' })
const gone = new FileError('not_found', 'It has gone.', { billed: 'no' })

test.for<[string, RequestBody, string]>([
  ['cannot be read', announced(10, failing(unread)), 'source_changed'],
  ['fails with an error of ours', announced(10, failing(gone)), 'not_found'],
  ['is longer than announced', announced(4, () => [Buffer.from('12345')]), 'source_changed'],
  ['is shorter than announced', announced(6, () => [Buffer.from('12345')]), 'source_changed'],
])('a body that %s is our own fault', async ([, body, code]) => {
  const server = await localServer([[readHead, stall]], { verify: false })
  const gateway = testGateway(server.url)
  const outcome = await outcomeOf(gateway, textRequest(gateway, { body }))
  expect(outcome).toMatchObject({ exitCode: 10, code, facts: { billed: 'no' } })
  expect(gateway.retries).toEqual([])
  await until(() => server.openSockets === 0)
})

test.for([
  ['right after the call', undefined, false],
  ['before it', undefined, true],
  ['before it, with a limit', 5_000, true],
] as const)('an abort that comes %s sends nothing', async ([, total, isBefore]) => {
  const { gateway } = await served([], { limits: { total } })
  const stopped = new ModelgateError('interrupt', 'interrupted', 'Stopped.')
  if (isBefore) gateway.abort(stopped)
  const outcome = outcomeOf(gateway)
  gateway.abort(stopped)
  expect(await outcome).toBe(stopped)
  expect(gateway.clock.pendingTimers).toBe(0)
})

test('closing a reply drops the rest and the connection', async () => {
  const reply200 = [readAll, write(head(200)), flood('x'.repeat(10_000))]
  const { server, gateway } = await served([reply200], { limits: { total: 60_000 } })
  const reply = await sendRequest(gateway, textRequest(gateway))
  reply.close()
  reply.close()
  await until(() => server.openSockets === 0)
  expect(gateway.clock.pendingTimers).toBe(0)
})

test('a reader that does not read stops the sender', async () => {
  const { server, gateway } = await served([[readAll, write(head(200)), flood(Buffer.alloc(1_048_576))]])
  const reply = await sendRequest(gateway, textRequest(gateway))
  // Until nothing more is taken for a good many turns of the loop.
  let before = -1
  for (let quiet = 0; quiet < 200; quiet = server.taken === before ? quiet + 1 : 0) {
    before = server.taken
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(server.taken).toBeLessThan(64 * 1_048_576)
  // Our own slowness is no silence of the server.
  await gateway.clock.advance(600_000)
  expect(server.openSockets).toBe(1)
  let read = 0
  for await (const { length } of reply.body) if ((read += length) > 100 * 1_048_576) break
  expect(server.taken).toBeGreaterThan(100 * 1_048_576)
  await until(() => server.openSockets === 0)
})

test.for<[string, ServerReply, (url: string) => string, exitCode: number, facts: object]>([
  ['connect', [stall], (url) => url.replace('http:', 'https:'), 6, { billed: 'no' }],
  ['send', [readHead, deaf, stall], String, 6, { billed: 'no' }],
  ['wait', [readAll, stall], String, 7, { billed: 'maybe' }],
])('the total limit passes in the phase %s', async ([phase, reply, urlOf, exitCode, facts]) => {
  const server = await localServer([reply])
  const gateway = testGateway(urlOf(server.url), { limits: { total: 5_000 } })
  const body = phase === 'send' ? hugeBody : jsonBody({})
  const outcome = outcomeOf(gateway, textRequest(gateway, { body }))
  await until(() => server.isEndless)
  await gateway.clock.advance(5_001)
  expect(await outcome).toMatchObject({ exitCode, facts: { phase, ...facts } })
  expect(gateway.retries).toEqual([])
})

test('an error body that stays away is waited for five seconds (fault C27)', async () => {
  let [hasReplied, isOver] = [false, false]
  const silent = [readAll, write(head(400, { 'content-length': '99' })), stall]
  const { gateway } = await served([silent], { onReply: () => void (hasReplied = true) })
  const outcome = outcomeOf(gateway).finally(() => (isOver = true))
  await until(() => hasReplied)
  await gateway.clock.advance(4_900)
  expect(isOver).toBe(false)
  await gateway.clock.advance(101)
  expect(await outcome).toMatchObject({ exitCode: 4, facts: { httpStatus: 400 } })
})

test('an error body is read across the pieces of a character', async () => {
  const bytes = Buffer.from('{"error":{"message":"Zu viele Anfragen für heute"}}')
  const at = bytes.indexOf('ü') + 1
  const pieces = [chunk(bytes.subarray(0, at)), chunk(bytes.subarray(at)), '0\r\n\r\n']
  const start = write(head(400, { 'transfer-encoding': 'chunked' }))
  const { gateway } = await served([[readAll, start, ...pieces.map(write), end]])
  expect(await outcomeOf(gateway)).toMatchObject({
    message: expect.stringContaining('für heute') as string,
  })
})
