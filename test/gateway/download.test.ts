import { expect, test } from 'vitest'
import { ModelgateError } from '../../src/errors.ts'
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
import { testGateway, until } from './test-gateway.ts'

/** Hosts of the tests: all are reached at this machine, whatever their addresses are. */
const addresses: Readonly<Record<string, string>> = {
  'gateway.test': '93.184.216.34',
  'cdn.test': '93.184.216.35',
  'internal.test': '10.0.0.7',
  'rebinding.test': '127.0.0.1',
}
const network: Network = {
  async resolve(host) {
    const address = addresses[host]
    if (address === undefined) throw Object.assign(new Error('no such host'), { code: 'ENOTFOUND' })
    return [{ address, family: 4 }]
  },
  reach: () => ({ address: '127.0.0.1', family: 4 }),
}

const at = (host: string, { port }: Pick<LocalServer, 'port'>, path = '/a.png?sig=s3cret') =>
  `http://${host}:${port}${path}`

interface Fetched {
  readonly outcome: string
  readonly content: string
  readonly error: ModelgateError | undefined
}

async function fetchInto(gateway: Gateway, url: string, options: DownloadOptions = {}): Promise<Fetched> {
  const chunks: Uint8Array[] = []
  const sink = {
    write: async (bytes: Uint8Array) => void chunks.push(Buffer.from(bytes)),
    restart: async () => void chunks.splice(0),
  }
  const content = () => Buffer.concat(chunks).toString('latin1')
  try {
    const isFramed = await download(gateway, url, sink, { network, ...options })
    return { outcome: isFramed ? 'framed' : 'not framed', content: content(), error: undefined }
  } catch (error) {
    if (!(error instanceof ModelgateError)) throw error
    return { outcome: `${error.exitCode} ${error.code}`, content: content(), error }
  }
}

const png = { headers: { 'content-type': 'image/png' } }
const picture = text('a picture', png)
const moved = (location: string, status = 302) => text('', { status, headers: { location } })

test('the key goes to the gateway’s own origin, and nowhere else', async () => {
  const server = await localServer([picture, picture, picture])
  const other = await localServer([picture])
  const gateway = testGateway(at('gateway.test', server, '/proxy'))
  for (const url of [
    at('gateway.test', server),
    '/files/a.png',
    at('cdn.test', server),
    at('gateway.test', other),
  ]) {
    expect(await fetchInto(gateway, url)).toMatchObject({ outcome: 'framed', content: 'a picture' })
  }
  const keys = [...server.requests, ...other.requests].map(({ headers }) => headers['authorization'])
  expect(keys).toEqual(['Bearer test-key-0123456789', 'Bearer test-key-0123456789', undefined, undefined])
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
  expect(await fetchInto(testGateway(at('gateway.test', server, '/proxy')), url)).toMatchObject({
    content: 'a picture',
  })
  expect(server.requests[0]!.line).toBe(`GET ${path} HTTP/1.1`)
})

test('a redirect is followed without the key, and so is the way back', async () => {
  const cdn = await localServer([picture, picture])
  const server = await localServer([moved(at('cdn.test', cdn)), moved('/b.png', 307), picture])
  const gateway = testGateway(at('gateway.test', server, ''))
  expect(await fetchInto(gateway, '/a.png')).toMatchObject({ content: 'a picture' })
  expect(await fetchInto(gateway, '/a.png')).toMatchObject({ content: 'a picture' })
  expect(cdn.requests[0]!.headers).not.toHaveProperty('authorization')
  expect(server.requests.map(({ headers }) => headers['authorization'])).toEqual(
    Array(3).fill('Bearer test-key-0123456789'),
  )
  const back = await localServer([picture])
  const away = await localServer([moved(at('gateway.test', back))])
  expect(await fetchInto(testGateway(at('gateway.test', back, '')), at('cdn.test', away))).toMatchObject({
    content: 'a picture',
  })
  expect(back.requests[0]!.headers).not.toHaveProperty('authorization')
  await fetchInto(gateway, at('cdn.test', cdn))
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
  const gateway = testGateway(at('gateway.test', server, ''))
  expect(await fetchInto(gateway, at('cdn.test', server))).toMatchObject({ outcome: '8 url_refused' })
  expect(victim.requests).toEqual([])
})

test('a name that resolves to this machine is refused on the address that is connected to', async () => {
  const victim = await localServer([])
  const { outcome, error } = await fetchInto(testGateway('http://gateway.test'), at('rebinding.test', victim))
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
  const outcome = await fetchInto(testGateway('http://gateway.test'), at('cdn.test', server), {
    network: changing,
  })
  expect(outcome).toMatchObject({ outcome: '8 url_refused', content: '' })
})

const busy = (headers: Record<string, string> = {}) => json({}, { status: 503, headers })
const lost: ServerReply = [readAll, reset]
const accepted = json({ status: 'processing' }, { status: 202 })
const missing = json({ error: { message: 'not found' } }, { status: 404 })

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
  ['no content', [[readAll, write(head(204)), { step: 'end' }]], '8 reply_not_understood'],
  ['an encoded file', [text('x', { headers: { 'content-encoding': 'gzip' } })], '8 reply_not_understood'],
  ['no HTTP', [[readAll, write('SSH-2.0-OpenSSH\r\n'), { step: 'end' }]], '8 reply_not_understood'],
])('%s', async ([, replies, expected]) => {
  const server = await localServer(replies)
  const gateway = testGateway('http://gateway.test')
  expect(await fetchInto(gateway, at('cdn.test', server))).toMatchObject({ outcome: expected })
  expect(gateway.clock.pendingTimers).toBe(0)
  await until(() => server.openSockets === 0)
})

test('without retries, one request', async () => {
  for (const reply of [missing, busy(), lost]) {
    const server = await localServer([reply])
    const gateway = testGateway('http://gateway.test', { policy: { mode: 'never' } })
    expect((await fetchInto(gateway, at('cdn.test', server))).error).toBeInstanceOf(ModelgateError)
  }
})

/** The beginning of a body that is longer, and then a reset. */
const broken = (body: string, headers: Record<string, string> = {}): ServerReply => [
  readAll,
  write(head(200, { 'content-length': '9', 'content-type': 'image/png', ...headers }) + body),
  reset,
]
const range = (place: string, body: string): ServerReply =>
  text(body, { status: 206, headers: { 'content-range': `bytes ${place}`, 'content-type': 'image/png' } })

test.for<[string, readonly ServerReply[]]>([
  ['was another one before it broke off', [broken('some'), picture]],
  ['comes as a part that nobody asked for', [range('0-3/9', 'a pi'), picture]],
])('a download that %s begins again, and is whole', async ([, replies]) => {
  const server = await localServer(replies)
  const gateway = testGateway('http://gateway.test')
  expect(await fetchInto(gateway, at('cdn.test', server))).toMatchObject({
    outcome: 'framed',
    content: 'a picture',
  })
  expect(server.requests.map(({ headers }) => headers['range'])).toEqual(replies.map(() => undefined))
  expect(gateway.retries).toHaveLength(replies.length - 1)
})

test.for<[string, ServerReply]>([
  ['said to be too large', text('x'.repeat(11))],
  ['found to be too large', [readAll, write(head(200) + 'x'.repeat(11)), { step: 'end' }]],
])('content that is %s', async ([, reply]) => {
  const server = await localServer([reply])
  const fetched = await fetchInto(testGateway('http://gateway.test'), at('cdn.test', server), {
    maxBytes: 10,
  })
  expect(fetched).toMatchObject({ outcome: '8 reply_too_large' })
  expect(fetched.content.length).toBeLessThanOrEqual(10)
})

test.for<[string, string, string]>([
  ['data:image/png;base64,YSBwaWN0dXJl', 'framed', 'a picture'],
  ['DATA:image/png;BASE64,YSBwaWN0dXJl', 'framed', 'a picture'],
  [' data:;base64,YQ', 'framed', 'a'],
  ['data:image/svg+xml,<svg/>', '8 damaged_media', ''],
  ['data:image/png;base64,Y!', '8 damaged_media', ''],
  ['data:image/png;base64', '8 damaged_media', ''],
  ['data:image/png;base64,', '8 damaged_media', ''],
  [`data:image/png;base64,${'A'.repeat(200)}`, '8 reply_too_large', ''],
])('decodes %s without any network', async ([url, outcome, content]) => {
  expect(await fetchInto(testGateway('https://gateway.test'), url, { maxBytes: 100 })).toMatchObject({
    outcome,
    content,
  })
})

test.for(['http://', 'https://[::g]/', `https://cdn.test/${'x'.repeat(70_000)}`])(
  '%s is no URL',
  async (url) => {
    expect(await fetchInto(testGateway('https://gateway.test'), url)).toMatchObject({
      outcome: '8 url_refused',
    })
  },
)

test('through a proxy on this machine, the host is the proxy’s to find', async () => {
  const proxy = await localServer([picture])
  const gateway = testGateway('http://gateway.test', {
    proxies: { http: proxy.url, https: proxy.url, except: '' },
  })
  expect(await fetchInto(gateway, 'http://cdn.test/a.png')).toMatchObject({ content: 'a picture' })
  expect(proxy.requests[0]!.line).toBe('GET http://cdn.test/a.png HTTP/1.1')
  expect(await fetchInto(gateway, 'http://10.0.0.1/a.png')).toMatchObject({ outcome: '8 url_refused' })
})

test('what a proxy would find inside a network is refused', async () => {
  const proxy = await localServer([picture, picture])
  const gateway = testGateway('http://gateway.test', {
    proxies: { http: proxy.url, https: proxy.url, except: '' },
  })
  for (const host of [
    'internal.test',
    'rebinding.test',
    'metadata',
    'metadata.google.internal',
    'nas.local',
  ]) {
    expect(await fetchInto(gateway, `http://${host}/a.png`)).toMatchObject({ outcome: '8 url_refused' })
  }
  expect(proxy.requests).toEqual([])
  // A name that only the proxy knows may be public, and whoever allows private addresses allows these.
  expect(await fetchInto(gateway, 'http://unknown.test/a.png')).toMatchObject({ content: 'a picture' })
  const allowed = await fetchInto(gateway, 'http://internal.test/a.png', { allowPrivate: true })
  expect(allowed).toMatchObject({ content: 'a picture' })
  expect(gateway.clock.pendingTimers).toBe(0)
})

test('a name that takes long to find is left to the proxy', async () => {
  const proxy = await localServer([picture])
  const gateway = testGateway('http://gateway.test', {
    proxies: { http: proxy.url, https: proxy.url, except: '' },
  })
  const silent: Network = { ...network, resolve: () => new Promise(() => {}) }
  const fetched = fetchInto(gateway, 'http://slow.test/a.png', { network: silent })
  await until(() => gateway.clock.pendingTimers > 0)
  await gateway.clock.advance(5_000)
  expect(await fetched).toMatchObject({ content: 'a picture' })
})

test('the time for the whole command bounds a download, too', async () => {
  const server = await localServer([[readAll, write(`${head(200)}a pic`), stall]])
  const gateway = testGateway(at('gateway.test', server, ''), { limits: { deadline: 20_000 } })
  const fetched = fetchInto(gateway, '/a.png')
  await until(() => server.isEndless)
  await gateway.clock.advance(20_000)
  expect(await fetched).toMatchObject({
    outcome: '5 deadline',
    error: { message: expect.stringContaining('(--timeout)') as string, facts: { billed: 'no' } },
  })
})

test.each([
  ['2147483648', '5 '],
  ['2147483649', '8 reply_too_large'],
])('%s bytes: the most that is fetched is 2 GiB', async (length, outcome) => {
  const reply = [readAll, write(head(200, { 'content-length': length })), end]
  const server = await localServer(outcome.startsWith('8') ? [reply] : [reply, reply, reply])
  expect(await fetchInto(testGateway('http://gateway.test'), at('cdn.test', server))).toMatchObject({
    outcome: expect.stringMatching(new RegExp(`^${outcome}`)) as string,
  })
})
