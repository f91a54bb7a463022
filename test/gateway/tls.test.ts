import type { AddressInfo } from 'node:net'
import { createServer } from 'node:tls'
import { expect, onTestFinished, test, vi } from 'vitest'
import { canMakeCertificates, makeCertificate } from '../support/certificate.ts'
import { localServer } from '../support/local-server.ts'
import { end, reset, text, write } from '../support/server-replies.ts'
import { outcomeOf, testGateway } from './test-gateway.ts'
import { tunnelProxy } from './tunnel-proxy.ts'

test('https to a port that does not speak TLS', async () => {
  const server = await localServer([[write('HTTP/1.1 400 Bad Request\r\n\r\n'), end]])
  const gateway = testGateway(server.url.replace('http:', 'https:'))
  expect(await outcomeOf(gateway)).toMatchObject({
    exitCode: 6,
    code: 'not_sent_tls',
    facts: { billed: 'no', hint: expect.stringContaining('http://') as string },
  })
  expect(gateway.retries).toEqual([])
})

test.for([
  ['an end', end],
  ['a reset', reset],
] as const)('%s in the handshake is tried again', async ([, step]) => {
  const server = await localServer([[step], [step], [step]])
  const gateway = testGateway(server.url.replace('http:', 'https:'))
  expect(await outcomeOf(gateway)).toMatchObject({ exitCode: 6, facts: { phase: 'connect', billed: 'no' } })
  expect(gateway.retries).toHaveLength(2)
})

/** Without `openssl` there is no certificate to test with. */
const withCertificates = { skip: !canMakeCertificates }

test(
  'an authority that nobody knows is refused, and not tried again (needs openssl)',
  withCertificates,
  async () => {
    const server = await localServer([[]], { tls: makeCertificate(), verify: false })
    const gateway = testGateway(server.url)
    expect(await outcomeOf(gateway)).toMatchObject({
      exitCode: 6,
      code: 'not_sent_certificate',
      facts: { billed: 'no', hint: expect.stringContaining('--ca-file') as string },
    })
    expect(gateway.retries).toEqual([])
  },
)

test('an authority of our own is trusted (needs openssl)', withCertificates, async () => {
  const tls = makeCertificate()
  const server = await localServer([text('ok')], { tls })
  expect(await outcomeOf(testGateway(server.url, { ca: tls.cert }))).toBe('ok')
})

test('a certificate for another host is refused (needs openssl)', withCertificates, async () => {
  const tls = makeCertificate('DNS:other.test')
  const server = await localServer([[]], { tls, verify: false })
  const gateway = testGateway(server.url, { ca: tls.cert })
  expect(await outcomeOf(gateway)).toMatchObject({ exitCode: 6, code: 'not_sent_certificate' })
})

test(
  'TLS goes through the tunnel of a proxy, and nobody reads along (needs openssl)',
  withCertificates,
  async () => {
    const tls = makeCertificate('DNS:gateway.test')
    const server = await localServer([text('ok')], { tls })
    const proxy = await tunnelProxy()
    const proxies = { http: undefined, https: proxy.url, except: '' }
    const url = `https://gateway.test:${server.port}`
    expect(await outcomeOf(testGateway(url, { ca: tls.cert, proxies }))).toBe('ok')
    expect(proxy.asked).toEqual([`CONNECT gateway.test:${server.port} HTTP/1.1`])
    expect(server.requests[0]!.headers['authorization']).toBe('Bearer test-key-0123456789')
  },
)

test('an unknown authority is refused through a proxy, too (needs openssl)', withCertificates, async () => {
  const server = await localServer([[]], { tls: makeCertificate(), verify: false })
  const proxy = await tunnelProxy()
  const proxies = { http: undefined, https: proxy.url, except: '' }
  const gateway = testGateway(`https://gateway.test:${server.port}`, { proxies })
  expect(await outcomeOf(gateway)).toMatchObject({ exitCode: 6, code: 'not_sent_certificate' })
})

test('no variable of the environment turns the checks off (needs openssl)', withCertificates, async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  onTestFinished(() => void vi.unstubAllEnvs())
  const server = await localServer([[], [], []], { tls: makeCertificate(), verify: false })
  expect(await outcomeOf(testGateway(server.url))).toMatchObject({ code: 'not_sent_certificate' })
  const tunnel = await tunnelProxy()
  const throughTunnel = { http: undefined, https: tunnel.url, except: '' }
  const away = `https://gateway.test:${server.port}`
  expect(await outcomeOf(testGateway(away, { proxies: throughTunnel }))).toMatchObject({
    code: 'not_sent_certificate',
  })
  // The proxy itself is reached over TLS, and is asked for an address in clear text.
  const throughTls = { http: server.url, https: server.url, except: '' }
  for (const url of ['http://gateway.test', 'https://gateway.test']) {
    expect(await outcomeOf(testGateway(url, { proxies: throughTls }))).toMatchObject({ exitCode: 6 })
  }
  expect(server.requests).toEqual([])
})

/** A server that answers only whoever presents a certificate; with TLS 1.3 it says so after the handshake. */
test.for(['TLSv1.2', 'TLSv1.3'] as const)(
  'a client certificate that is demanded: nothing was sent (%s)',
  withCertificates,
  async (version) => {
    const tls = makeCertificate()
    const demand = { requestCert: true, rejectUnauthorized: true, minVersion: version, maxVersion: version }
    const server = createServer({ ...tls, ...demand }, (socket) => socket.destroy())
    server.on('tlsClientError', () => {})
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const gateway = testGateway(`https://127.0.0.1:${(server.address() as AddressInfo).port}`, {
      ca: tls.cert,
    })
    expect(await outcomeOf(gateway)).toMatchObject({
      exitCode: 6,
      code: 'not_sent_client_certificate',
      facts: { billed: 'no', hint: expect.stringContaining('client certificate') as string },
    })
    expect(gateway.retries).toEqual([])
  },
)
