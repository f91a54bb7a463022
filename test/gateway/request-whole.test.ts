import { expect, test } from 'vitest'
import { ContractError, Interrupted, ModelgateError } from '../../src/errors.ts'
import type { ExchangeError } from '../../src/gateway/exchange-error.ts'
import type { Gateway, GatewayReply } from '../../src/gateway/gateway.ts'
import { brokenError } from '../../src/gateway/gateway-errors.ts'
import { requestWhole } from '../../src/gateway/send-request.ts'
import { localServer } from '../support/local-server.ts'
import { end, head, json, readAll, stall, text, write, type ServerReply } from '../support/server-replies.ts'
import { testGateway, textOf, until } from './test-gateway.ts'

const ok = text('ok')
const cut: ServerReply = [readAll, write(`${head(200, { 'content-length': '10' })}half`), end]
const redirect = (to: string) => text('', { status: 307, headers: { location: to } })

/** The whole body, or the error of a read that broke. */
function readText(reply: GatewayReply): Promise<string> {
  return textOf(reply).catch((error: unknown) => {
    throw brokenError(error as ExchangeError, 'read')
  })
}

function whole(gateway: Gateway, read: (reply: GatewayReply) => Promise<string> = readText): Promise<string> {
  const url = new URL('/v1/things', gateway.baseUrl)
  return requestWhole(gateway, { method: 'GET', url, kind: 'read', accept: '*/*' }, read)
}

/** A reader that fails with this error at first, and then reads. */
function failingOnce(error: Error) {
  let calls = 0
  return (reply: GatewayReply) => {
    if (++calls > 1) return readText(reply)
    reply.close()
    return Promise.reject(error)
  }
}

test('asks again for a reply that was cut', async () => {
  const server = await localServer([cut, cut, ok])
  const gateway = testGateway(server.url)
  expect(await whole(gateway)).toBe('ok')
  expect(gateway.retries).toMatchObject([
    { attempt: 1, attempts_left: 2 },
    { attempt: 2, attempts_left: 1 },
  ])
})

test('ends with the error of the last reply when every one was cut', async () => {
  const server = await localServer([cut, cut, cut])
  await expect(whole(testGateway(server.url))).rejects.toMatchObject({ exitCode: 5, code: 'connection_lost' })
})

test('--retry never asks once, also when the reply was cut', async () => {
  const server = await localServer([cut])
  const gateway = testGateway(server.url, { policy: { mode: 'never' } })
  await expect(whole(gateway)).rejects.toMatchObject({ exitCode: 5, code: 'connection_lost' })
})

test.each(['later', 'unknown'] as const)('asks again when reading ends with %s', async (exit) => {
  const server = await localServer([ok, ok])
  const stalled = new ModelgateError(exit, 'timeout', 'No progress.')
  expect(await whole(testGateway(server.url), failingOnce(stalled))).toBe('ok')
})

test.each([
  ['a reply that breaks the contract', new ContractError('reply_not_understood', 'Deep.')],
  ['a fault of the reader', new TypeError('x is undefined')],
  ['the time limit', new ModelgateError('later', 'deadline', 'Too late.')],
])('does not ask again after %s', async (_, error) => {
  const server = await localServer([ok])
  await expect(whole(testGateway(server.url), failingOnce(error))).rejects.toBe(error)
})

test('the time limit ends with the reply, or the failure', async () => {
  const server = await localServer([ok, json({}, { status: 404 })])
  const gateway = testGateway(server.url, { limits: { total: 60_000 } })
  expect(await whole(gateway)).toBe('ok')
  expect(gateway.clock.pendingTimers).toBe(0)
  await expect(whole(gateway)).rejects.toMatchObject({ exitCode: 4 })
  expect(gateway.clock.pendingTimers).toBe(0)
})

test('a time limit that passes between two attempts leaves the error of the first', async () => {
  const server = await localServer([json({}, { status: 429, headers: { 'retry-after': '30' } })])
  const gateway = testGateway(server.url, { limits: { total: 5_000 }, skipWaits: false })
  const result = whole(gateway).catch((error: unknown) => error)
  await until(() => gateway.retries.length === 1)
  await gateway.clock.advance(5_001)
  expect(await result).toMatchObject({ exitCode: 5, facts: { httpStatus: 429 } })
})

test('a signal between two attempts tells what the first may have cost', async () => {
  for (const [facts, expected] of [
    [{}, { phase: 'reply', billed: 'no' }],
    [
      { phase: 'stream', billed: 'maybe' },
      { phase: 'stream', billed: 'maybe' },
    ],
  ] as const) {
    const server = await localServer([ok])
    const gateway = testGateway(server.url, { skipWaits: false })
    const lost = new ModelgateError('unknown', 'timeout', 'No progress.', facts)
    const result = whole(gateway, failingOnce(lost)).catch((error: unknown) => error)
    await until(() => gateway.retries.length === 1)
    gateway.abort(new Interrupted('interrupt'))
    expect(await result).toMatchObject({ exitCode: 130, facts: expected })
  }
})

test('follows redirects within the origin, at most three', async () => {
  const there = await localServer([redirect('/v1/a'), redirect('b'), redirect('/c?d=e'), ok])
  expect(await whole(testGateway(there.url))).toBe('ok')
  expect(there.requests.map(({ line }) => line)).toEqual([
    'GET /v1/things HTTP/1.1',
    'GET /v1/a HTTP/1.1',
    'GET /v1/b HTTP/1.1',
    'GET /c?d=e HTTP/1.1',
  ])
  const endless = await localServer(Array.from({ length: 4 }, () => redirect('/v1/things')))
  await expect(whole(testGateway(endless.url))).rejects.toMatchObject({
    exitCode: 8,
    code: 'reply_not_understood',
  })
})

test('does not wait for the body of a redirect', async () => {
  const unfinished = head(307, { location: '/v1/a', 'content-length': '10' })
  const server = await localServer([[readAll, write(unfinished), stall], ok])
  const gateway = testGateway(server.url)
  expect(await whole(gateway)).toBe('ok')
  await until(() => server.openSockets === 0)
  expect(gateway.clock.pendingTimers).toBe(0)
})
