import { expect, test } from 'vitest'
import { proxiesFrom } from '../../src/commands/shared/gateway/configured-gateway.ts'
import { localServer } from '../support/local-server.ts'
import { json, readHead, stall, text } from '../support/server-replies.ts'
import { outcomeOf, testGateway, until } from './test-gateway.ts'

const proxies = (url: string, except = '') => ({ http: url, https: url, except })
const secret = 'http://user:pass%20word@'

test('asks a plain proxy for the whole address, the key going through it', async () => {
  const proxy = await localServer([json({ a: 1 })])
  const gateway = testGateway('http://gateway.test:8080', {
    proxies: proxies(proxy.url.replace('http://', secret)),
  })
  expect(await outcomeOf(gateway)).toBe('{"a":1}')
  expect(proxy.requests[0]).toMatchObject({
    line: 'POST http://gateway.test:8080/v1/responses HTTP/1.1',
    headers: {
      host: 'gateway.test:8080',
      authorization: 'Bearer test-key-0123456789',
      'proxy-authorization': `Basic ${Buffer.from('user:pass word').toString('base64')}`,
    },
    complete: true,
  })
})

test.for([
  ['gateway.test', true],
  ['*', true],
  ['other.test,gateway.test:{port}', true],
  ['gateway.test:1', false],
  ['other.test', false],
  ['', false],
] as const)('NO_PROXY=%s leads around the proxy: %s', async ([except, around]) => {
  const server = await localServer(around ? [text('direct')] : [])
  const proxy = await localServer(around ? [] : [text('through the proxy')])
  const gateway = testGateway(`http://gateway.test:${server.port}`, {
    proxies: proxies(proxy.url, except.replace('{port}', String(server.port))),
    lookup: (_, __, found) => found(null, [{ address: '127.0.0.1', family: 4 }]),
  })
  expect(await outcomeOf(gateway)).toBe(around ? 'direct' : 'through the proxy')
})

test.for(['127.0.0.1', 'localhost', 'a.localhost'])(
  'no proxy stands between this machine and itself: %s',
  async (host) => {
    const server = await localServer([text('direct')])
    const proxy = await localServer([])
    const gateway = testGateway(`http://${host}:${server.port}`, {
      proxies: proxies(proxy.url),
      lookup: (_, __, found) => found(null, [{ address: '127.0.0.1', family: 4 }]),
    })
    expect(await outcomeOf(gateway)).toBe('direct')
  },
)

test('a plain proxy that wants a password: nothing was sent on', async () => {
  const proxy = await localServer([text('', { status: 407 })])
  const gateway = testGateway('http://gateway.test', { proxies: proxies(proxy.url) })
  expect(await outcomeOf(gateway)).toMatchObject({ exitCode: 6, code: 'not_sent_proxy' })
})

test('a proxy that says nothing ends at the connect limit, with its socket', async () => {
  const proxy = await localServer([[readHead, stall]])
  const gateway = testGateway('https://gateway.test', {
    proxies: proxies(proxy.url),
    policy: { mode: 'never' },
  })
  const outcome = outcomeOf(gateway)
  await until(() => (proxy.requests[0]?.line ?? '') !== '')
  await gateway.clock.advance(10_001)
  expect(await outcome).toMatchObject({ exitCode: 6, code: 'not_sent' })
  await until(() => proxy.openSockets === 0)
})

test.for(['http://', 'http://[', 'ftp://a.test', 'http://a.test:99999'])(
  'a proxy address that is none: %s',
  async (url) => {
    const gateway = testGateway('http://gateway.test', { proxies: proxies(url) })
    expect(await outcomeOf(gateway)).toMatchObject({ exitCode: 6 })
  },
)

test.for([
  [{}, undefined],
  [{ HTTP_PROXY: '' }, undefined],
  [{ NO_PROXY: 'a' }, undefined],
  [{ HTTP_PROXY: 'http://a:1' }, { http: 'http://a:1', https: 'http://a:1', except: '' }],
  [
    { HTTPS_PROXY: 'a:1', no_proxy: 'b' },
    { http: undefined, https: 'http://a:1', except: 'b' },
  ],
  [
    { HTTP_PROXY: 'http://a', http_proxy: 'http://b' },
    { http: 'http://b', https: 'http://b', except: '' },
  ],
  [
    { ALL_PROXY: 'a', HTTPS_PROXY: 'b' },
    { http: 'http://a', https: 'http://b', except: '' },
  ],
] as const)('reads %j', ([env, expected]) => {
  expect(proxiesFrom(env)).toEqual(expected)
})
