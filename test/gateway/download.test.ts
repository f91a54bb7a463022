import { expect, test } from 'vitest'
import { download, type DownloadOptions } from '../../src/gateway/download/download.ts'
import type { Gateway } from '../../src/gateway/gateway.ts'
import type { Network } from '../../src/gateway/download/url-policy.ts'
import { localServer, type LocalServer } from '../support/local-server.ts'
import {
  end,
  head,
  json,
  readAll,
  reset,
  stall,
  text,
  write,
  type ServerReply,
} from '../support/server-replies.ts'
import { at, broken, fetched, key, moved, network } from './downloads.ts'
import { testGateway, until } from './test-gateway.ts'

const fetchInto = (gateway: Gateway, url: string, options: DownloadOptions = {}) =>
  fetched((sink) => download(gateway, url, sink, { network, ...options }))

const away = () => testGateway('http://gateway.test')
const picture = text('a picture')
const whole = { outcome: 'framed', content: 'a picture' }
const refused = { outcome: '8 url_refused', content: '' }

test('the key goes to the gateway’s own origin, and nowhere else', async () => {
  const server = await localServer([picture, picture, picture])
  const other = await localServer([picture])
  const gateway = testGateway(at('gateway.test', server, '/proxy'))
  const own = at('gateway.test', server)
  for (const url of [own, '/files/a.png', at('cdn.test', server), at('gateway.test', other)]) {
    expect(await fetchInto(gateway, url)).toMatchObject(whole)
  }
  const keys = [...server.requests, ...other.requests].map(({ headers }) => headers['authorization'])
  expect(keys).toEqual([key, key, undefined, undefined])
  const { headers } = server.requests[2]!
  expect(headers).toMatchObject({ 'accept-encoding': 'identity', host: `cdn.test:${server.port}` })
  expect(headers).not.toHaveProperty('cookie')
  // The signature in an address is a secret, too.
  expect(gateway.traced.join('\n')).not.toContain('s3cret')
})

test.for<[string, string]>([
  ['/v1/files/a.png', '/v1/files/a.png'],
  ['files/a.png?x=1', '/proxy/files/a.png?x=1'],
  ['../a.png', '/a.png'],
])('the address %s belongs to the base URL', async ([url, path]) => {
  const server = await localServer([picture])
  expect(await fetchInto(testGateway(at('gateway.test', server, '/proxy')), url)).toMatchObject(whole)
  expect(server.requests[0]!.line).toBe(`GET ${path} HTTP/1.1`)
})

test('a redirect is followed without the key, and so is the way back', async () => {
  const cdn = await localServer([picture])
  const server = await localServer([moved(at('cdn.test', cdn)), moved('/b.png', 307), picture])
  const gateway = testGateway(at('gateway.test', server, ''))
  for (const url of ['/a.png', '/a.png']) expect(await fetchInto(gateway, url)).toMatchObject(whole)
  expect(cdn.requests[0]!.headers).not.toHaveProperty('authorization')
  expect(server.requests.map(({ headers }) => headers['authorization'])).toEqual([key, key, key])
  const back = await localServer([picture])
  const other = await localServer([moved(at('gateway.test', back))])
  const home = testGateway(at('gateway.test', back, ''))
  expect(await fetchInto(home, at('cdn.test', other))).toMatchObject(whole)
  expect(back.requests[0]!.headers).not.toHaveProperty('authorization')
})

test.for<[string, (own: LocalServer) => string]>([
  ['a private host', (own) => at('internal.test', own)],
  ['this machine', (own) => at('127.0.0.1', own)],
  ['this machine by a name that lies', (own) => at('rebinding.test', own)],
  ['a file', () => 'file:///etc/passwd'],
  ['a user name', (own) => `http://user@cdn.test:${own.port}/`],
])('a redirect to %s is refused, and nothing is sent there', async ([, target]) => {
  const victim = await localServer([], { verify: false })
  const server = await localServer([moved(target(victim))])
  expect(await fetchInto(away(), at('cdn.test', server))).toMatchObject(refused)
  expect(victim.requests).toEqual([])
})

test('a name that resolves to this machine is refused on the address that is connected to', async () => {
  const victim = await localServer([])
  const { outcome, error } = await fetchInto(away(), at('rebinding.test', victim))
  expect(outcome).toBe('8 url_refused')
  expect(error!.message).toContain('rebinding.test (127.0.0.1)')
  expect(error!.facts.hint).toContain('--allow-private-urls')
})

test('each hop asks for its address anew', async () => {
  let asked = 0
  const changing: Network = {
    ...network,
    async resolve(host) {
      if (host !== 'cdn.test') return network.resolve(host)
      return [{ address: asked++ === 0 ? '93.184.216.40' : '127.0.0.1', family: 4 }]
    },
  }
  const server = await localServer([moved('/again')])
  expect(await fetchInto(away(), at('cdn.test', server), { network: changing })).toMatchObject(refused)
})

const busy = (headers: Record<string, string> = {}) => json({}, { status: 503, headers })
const accepted = json({ status: 'processing' }, { status: 202 })

test.for<[string, readonly ServerReply[], string]>([
  [
    'an expired URL that the gateway wants to be asked for again',
    [text('<Error/>', { status: 403, headers: { 'x-should-retry': 'true' } }), picture],
    'framed',
  ],
  ['a URL that wants a key of its own', [text('', { status: 401 })], '4 url_expired'],
  ['a URL that is ready in a moment', [accepted, accepted, picture], 'framed'],
  ['a URL that is never ready', Array<ServerReply>(4).fill(accepted), '5 not_ready'],
  ['a server that is busy for a while', [busy(), busy({ 'retry-after': '3' }), picture], 'framed'],
  ['a wait beyond all patience', [busy({ 'retry-after': '3600' })], '5 http_503'],
])('%s', async ([, replies, outcome]) => {
  const server = await localServer(replies)
  const gateway = away()
  expect(await fetchInto(gateway, at('cdn.test', server))).toMatchObject({ outcome })
  expect(gateway.clock.pendingTimers).toBe(0)
  await until(() => server.openSockets === 0)
})

test.for<[string, ServerReply]>([
  ['4 http_404', json({}, { status: 404 })],
  ['5 http_503', busy()],
  ['5 connection_lost', [readAll, reset]],
])('without retries, one request: %s', async ([outcome, reply]) => {
  const gateway = testGateway('http://gateway.test', { policy: { mode: 'never' } })
  expect(await fetchInto(gateway, at('cdn.test', await localServer([reply])))).toMatchObject({ outcome })
})

test.for<[string, ServerReply]>([
  ['was another one before it broke off', broken('some', 9)],
  [
    'comes as a part that nobody asked for',
    text('a pi', { status: 206, headers: { 'content-range': 'bytes 0-3/9' } }),
  ],
])('a download that %s begins again, and is whole', async ([, first]) => {
  const server = await localServer([first, picture])
  const gateway = away()
  expect(await fetchInto(gateway, at('cdn.test', server))).toMatchObject(whole)
  expect(server.requests.map(({ headers }) => headers['range'])).toEqual([undefined, undefined])
  expect(gateway.retries).toHaveLength(1)
})

test.for<[string, ServerReply]>([
  ['said to be too large', text('x'.repeat(11))],
  ['found to be too large', [readAll, write(head(200) + 'x'.repeat(11)), end]],
])('content that is %s', async ([, reply]) => {
  const { outcome, content } = await fetchInto(away(), at('cdn.test', await localServer([reply])), {
    maxBytes: 10,
  })
  expect(outcome).toBe('8 reply_too_large')
  expect(content.length).toBeLessThanOrEqual(10)
})

test.for<[string, string, string]>([
  ['data:image/png;base64,YSBwaWN0dXJl', 'framed', 'a picture'],
  ['DATA:image/png;BASE64,YSBwaWN0dXJl', 'framed', 'a picture'],
  [' data:;base64,YQ', 'framed', 'a'],
  ['data:image/png;base64,%59Q%3D%3d', 'framed', 'a'],
  ['data:image/png;base64,YQ%3D%3', '8 damaged_media', ''],
  ['data:image/png;base64,YQ%', '8 damaged_media', ''],
  ['data:image/svg+xml,<svg/>', '8 damaged_media', ''],
  ['data:image/png;base64,Y!', '8 damaged_media', ''],
  ['data:image/png;base64', '8 damaged_media', ''],
  ['data:image/png;base64,', '8 damaged_media', ''],
  [`data:image/png;base64,${'A'.repeat(200)}`, '8 reply_too_large', ''],
  ['http://', '8 url_refused', ''],
  ['https://[::g]/', '8 url_refused', ''],
  [`https://cdn.test/${'x'.repeat(70_000)}`, '8 url_refused', ''],
])('needs no network for %s', async ([url, outcome, content]) => {
  const gateway = testGateway('https://gateway.test')
  expect(await fetchInto(gateway, url, { maxBytes: 100 })).toMatchObject({ outcome, content })
})

/** A gateway behind a proxy on this machine. */
async function behindProxy(replies: readonly ServerReply[]) {
  const proxy = await localServer(replies)
  const proxies = { http: proxy.url, https: proxy.url, except: '' }
  return { proxy, gateway: testGateway('http://gateway.test', { proxies }) }
}

test('what a proxy would find inside a network is refused', async () => {
  const { proxy, gateway } = await behindProxy([picture, picture, picture])
  const inside = [
    '10.0.0.1',
    'internal.test',
    'rebinding.test',
    'metadata',
    'metadata.google.internal',
    'nas.local',
  ]
  for (const host of inside) {
    expect(await fetchInto(gateway, `http://${host}/a.png`)).toMatchObject(refused)
  }
  expect(proxy.requests).toEqual([])
  // A name that only the proxy knows may be public, and whoever allows private addresses allows these.
  expect(await fetchInto(gateway, 'http://cdn.test/a.png')).toMatchObject(whole)
  expect(await fetchInto(gateway, 'http://unknown.test/a.png')).toMatchObject(whole)
  const allowed = await fetchInto(gateway, 'http://internal.test/a.png', { allowPrivate: true })
  expect(allowed).toMatchObject(whole)
  expect(proxy.requests[0]!.line).toBe('GET http://cdn.test/a.png HTTP/1.1')
  expect(gateway.clock.pendingTimers).toBe(0)
})

test('a name that takes long to find is left to the proxy', async () => {
  const { gateway } = await behindProxy([picture])
  const silent: Network = { ...network, resolve: () => new Promise(() => {}) }
  const end = fetchInto(gateway, 'http://slow.test/a.png', { network: silent })
  await until(() => gateway.clock.pendingTimers > 0)
  await gateway.clock.advance(5_000)
  expect(await end).toMatchObject(whole)
})

test('the time for the whole command bounds a download, too', async () => {
  const server = await localServer([[readAll, write(`${head(200)}a pic`), stall]])
  const gateway = testGateway(at('gateway.test', server, ''), { limits: { deadline: 20_000 } })
  const end = fetchInto(gateway, '/a.png')
  await until(() => server.isEndless)
  await gateway.clock.advance(20_000)
  expect(await end).toMatchObject({
    outcome: '5 deadline',
    error: { message: expect.stringContaining('(--timeout)') as string, facts: { billed: 'no' } },
  })
})

test.each([
  ['2147483648', '5 connection_lost', 3],
  ['2147483649', '8 reply_too_large', 1],
])('%s bytes: the most that is fetched is 2 GiB', async (length, outcome, attempts) => {
  const reply = [readAll, write(head(200, { 'content-length': length })), end]
  const server = await localServer(Array.from({ length: attempts }, () => reply))
  expect(await fetchInto(away(), at('cdn.test', server))).toMatchObject({ outcome })
})
