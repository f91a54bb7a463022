import { expect, onTestFinished, test, vi } from 'vitest'
import { canMakeCertificates, makeCertificate } from '../support/certificate.ts'
import { localServer } from '../support/local-server.ts'
import { text } from '../support/server-replies.ts'
import { outcomeOf, testGateway } from './test-gateway.ts'
import { tunnelProxy } from './tunnel-proxy.ts'

/** Without `openssl` there is no certificate to test with. */
const withCertificates = { skip: !canMakeCertificates }

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
