import { expect, test } from 'vitest'
import { systemClock } from '../../src/context.ts'
import { proxyFor, resolveHost, connectTo } from '../../src/gateway/probe-connection.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { closedPort } from '../support/local-server.ts'

const proxies = (except: string) => ({ http: 'http://plain:1', https: 'http://secure:2', except })

test.each([
  ['https://gateway.example', '', 'http://secure:2'],
  ['http://gateway.example', '', 'http://plain:1'],
  ['https://gateway.example', 'gateway.example', undefined],
  ['https://GATEWAY.example.', 'Gateway.Example', undefined],
  ['https://api.gateway.example', 'gateway.example', undefined],
  ['https://api.gateway.example', '.gateway.example', undefined],
  ['https://gateway.example', '.gateway.example', undefined],
  ['https://gateway.example', '*.gateway.example', 'http://secure:2'],
  ['https://api.gateway.example', '*.gateway.example', undefined],
  ['https://mygateway.example', 'gateway.example', 'http://secure:2'],
  ['https://gateway.example', 'other, gateway.example:443', undefined],
  ['https://gateway.example:8443', 'gateway.example:443', 'http://secure:2'],
  ['https://gateway.example', '*', undefined],
  ['https://[2001:db8::1]', '[2001:db8::1]', undefined],
  ['https://[2001:db8::1]', '2001:db8::1', undefined],
  ['https://[2001:db8::1]:8443', '[2001:db8::1]:443', 'http://secure:2'],
])('%s with NO_PROXY=%s goes through %s', (url, except, proxy) => {
  expect(proxyFor(new URL(url), proxies(except))).toBe(proxy)
})

test('without proxies there is none', () => {
  expect(proxyFor(new URL('https://gateway.example'), undefined)).toBeUndefined()
})

test('a look at a connection ends with the signal, and after its limit', async () => {
  const controller = new AbortController()
  const stopped = new Error('stopped')
  const probe = { clock: systemClock, signal: controller.signal, limitMs: 10_000 }
  controller.abort(stopped)
  await expect(resolveHost(new URL('https://gateway.invalid'), probe)).rejects.toBe(stopped)
  const port = await closedPort()
  const signal = new AbortController().signal
  await expect(connectTo(new URL(`http://127.0.0.1:${port}`), { ...probe, signal })).rejects.toMatchObject({
    fault: 'connect',
  })
  // TEST-NET-1 (RFC 5737): nobody answers, or the system says so at once.
  const clock = fakeClock()
  const silent = connectTo(new URL('http://192.0.2.1'), { clock, signal, limitMs: 5000 })
  silent.catch(() => {})
  await clock.advance(5000)
  await expect(silent).rejects.toMatchObject({ stage: 'connect' })
})
