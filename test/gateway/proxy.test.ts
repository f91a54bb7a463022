import { expect, onTestFinished, test, vi } from 'vitest'
import { proxiesFrom } from '../../src/commands/shared/gateway/open-gateway.ts'
import { canMakeCertificates, makeCertificate } from '../support/certificate.ts'
import { localServer } from '../support/local-server.ts'
import { json, readHead, stall, text } from '../support/server-replies.ts'
import { outcomeOf, testGateway, until, type TestGatewayOptions } from './test-gateway.ts'
import { tunnelProxy } from './tunnel-proxy.ts'

/** A gateway behind this proxy; its own host is this machine. */
const behind = (proxy: string, url: string, { except = '', ...more }: Behind = {}) =>
  testGateway(url, {
    proxies: { http: proxy, https: proxy, except },
    lookup: (_, __, found) => found(null, [{ address: '127.0.0.1', family: 4 }]),
    ...more,
  })
type Behind = TestGatewayOptions & { readonly except?: string }

test('asks a plain proxy for the whole address, the key going through it', async () => {
  const proxy = await localServer([json({ a: 1 })])
  const withPassword = proxy.url.replace('http://', 'http://user:pass%20word@')
  expect(await outcomeOf(behind(withPassword, 'http://gateway.test:8080'))).toBe('{"a":1}')
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
  ['gateway.test', 'gateway.test', true],
  ['gateway.test', '*', true],
  ['gateway.test', 'other.test,gateway.test:{port}', true],
  ['gateway.test', 'gateway.test:1', false],
  ['gateway.test', 'other.test', false],
  ['gateway.test', '', false],
  // No proxy stands between this machine and itself.
  ['127.0.0.1', '', true],
  ['localhost', '', true],
  ['a.localhost', '', true],
] as const)('to %s NO_PROXY=%s leads around the proxy: %s', async ([host, except, around]) => {
  const server = await localServer(around ? [text('direct')] : [])
  const proxy = await localServer(around ? [] : [text('through the proxy')])
  const options = { except: except.replace('{port}', String(server.port)) }
  const gateway = behind(proxy.url, `http://${host}:${server.port}`, options)
  expect(await outcomeOf(gateway)).toBe(around ? 'direct' : 'through the proxy')
})

test('a plain proxy that wants a password: nothing was sent on', async () => {
  const proxy = await localServer([text('', { status: 407 })])
  const outcome = await outcomeOf(behind(proxy.url, 'http://gateway.test'))
  expect(outcome).toMatchObject({ exitCode: 6, code: 'not_sent_proxy' })
})

test('a proxy that says nothing ends at the connect limit, with its socket', async () => {
  const proxy = await localServer([[readHead, stall]])
  const gateway = behind(proxy.url, 'https://gateway.test', { policy: { mode: 'never' } })
  const outcome = outcomeOf(gateway)
  await until(() => (proxy.requests[0]?.line ?? '') !== '')
  await gateway.clock.advance(10_001)
  expect(await outcome).toMatchObject({ exitCode: 6, code: 'not_sent' })
  await until(() => proxy.openSockets === 0)
})

test.for(['http://', 'http://[', 'ftp://a.test', 'http://a.test:99999'])(
  'a proxy address that is none: %s',
  async (url) => {
    expect(await outcomeOf(behind(url, 'http://gateway.test'))).toMatchObject({ exitCode: 6 })
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

/** Without `openssl` there is no certificate to test with. */
const withCertificates = { skip: !canMakeCertificates }

test(
  'TLS goes through the tunnel of a proxy, and nobody reads along (needs openssl)',
  withCertificates,
  async () => {
    const tls = makeCertificate('DNS:gateway.test')
    const server = await localServer([text('ok')], { tls })
    const tunnel = await tunnelProxy()
    const gateway = behind(tunnel.url, `https://gateway.test:${server.port}`, { ca: tls.cert })
    expect(await outcomeOf(gateway)).toBe('ok')
    expect(tunnel.asked).toEqual([`CONNECT gateway.test:${server.port} HTTP/1.1`])
    expect(server.requests[0]!.headers['authorization']).toBe('Bearer test-key-0123456789')
  },
)

test('no variable of the environment turns the checks off (needs openssl)', withCertificates, async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  onTestFinished(() => void vi.unstubAllEnvs())
  const server = await localServer([[], [], []], { tls: makeCertificate(), verify: false })
  const untrusted = { exitCode: 6, code: 'not_sent_certificate' }
  expect(await outcomeOf(testGateway(server.url))).toMatchObject(untrusted)
  const { url: tunnel } = await tunnelProxy()
  const away = `https://gateway.test:${server.port}`
  expect(await outcomeOf(behind(tunnel, away))).toMatchObject(untrusted)
  // The proxy itself is reached over TLS, and is asked for an address in clear text.
  for (const url of ['http://gateway.test', 'https://gateway.test']) {
    expect(await outcomeOf(behind(server.url, url))).toMatchObject({ exitCode: 6 })
  }
  expect(server.requests).toEqual([])
})
