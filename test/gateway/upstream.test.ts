import { expect, test } from 'vitest'
import { systemClock } from '../../src/context.ts'
import { createUpstream } from '../../src/gateway/upstream.ts'
import { canMakeCertificates, makeCertificate } from '../support/certificate.ts'
import { localServer } from '../support/local-server.ts'
import { json, text } from '../support/server-replies.ts'
import { textOf } from './test-gateway.ts'

const upstream = (url: string, key: string | undefined, ca?: string) =>
  createUpstream({
    baseUrl: new URL(url),
    key,
    clock: systemClock,
    headers: {},
    connectMs: 10_000,
    ...(ca !== undefined && { ca }),
  })

const get = (headers: Readonly<Record<string, string>> = {}) => ({
  method: 'GET' as const,
  headers,
  signal: new AbortController().signal,
})

test('headers of the connection, of browsers, and other keys stay here', async () => {
  const server = await localServer([json({})])
  const headers = {
    host: '127.0.0.1:1',
    connection: 'keep-alive',
    'transfer-encoding': 'chunked',
    'content-length': '99',
    'accept-encoding': 'gzip, br',
    cookie: 'a=b',
    referer: 'https://a.example',
    'api-key': 'other',
    'content-type': 'application/json',
    'x-stainless-lang': 'js',
    'openai-beta': ['a=1', 'b=2'],
  }
  const request = { ...get(), method: 'POST' as const, headers, body: Buffer.from('{}') }
  // The path in front of a gateway is kept.
  await upstream(`${server.url}/proxy/`, 'own-key').send(request, '/v1/responses?limit=1')
  expect(server.requests[0]!.line).toBe('POST /proxy/v1/responses?limit=1 HTTP/1.1')
  expect(server.requests[0]!.headers).toEqual({
    host: new URL(server.url).host,
    connection: 'close',
    'content-length': '2',
    'accept-encoding': 'identity',
    'content-type': 'application/json',
    'x-stainless-lang': 'js',
    'openai-beta': 'a=1, b=2',
    authorization: 'Bearer own-key',
  })
})

const theirs = { authorization: 'Bearer theirs' }

test.for([
  ['a bearer token', theirs, '/v1/x', 'own', { authorization: 'Bearer own' }],
  ['the header of Google', { 'x-goog-api-key': 'theirs' }, '/v1/x', 'own', { 'x-goog-api-key': 'own' }],
  ['the query', {}, '/v1/x?key=theirs&alt=sse', 'own', { 'x-goog-api-key': 'own' }],
  ['no key', {}, '/v1/x', 'own', { authorization: 'Bearer own' }],
  ['a bearer token, none configured', theirs, '/v1/x', undefined, theirs],
  ['the query, none configured', {}, '/v1/x?key=theirs', undefined, { 'x-goog-api-key': 'theirs' }],
  ['no key, none configured', {}, '/v1/x', undefined, {}],
] as const)('the key goes in the header of the caller: %s', async ([, headers, path, key, expected]) => {
  const server = await localServer([json({})])
  await upstream(server.url, key).send(get(headers), path)
  const { line, headers: received } = server.requests[0]!
  const sent = Object.entries(received).filter(([name]) => /authorization|key/.test(name))
  expect(Object.fromEntries(sent)).toEqual(expected)
  expect(line).not.toContain('theirs')
})

test('a result elsewhere gets no key, one at the gateway does', async () => {
  const [gateway, other] = [await localServer([text('own')]), await localServer([text('other')])]
  const { fetch } = upstream(gateway.url, 'own-key')
  const request = get({ authorization: 'Bearer x', range: 'bytes=1-' })
  expect(await textOf(await fetch(request, `${gateway.url}/a`))).toBe('own')
  expect(await textOf(await fetch(request, `${other.url}/a?sig=s`))).toBe('other')
  expect(gateway.requests[0]!.headers['authorization']).toBe('Bearer own-key')
  expect(other.requests[0]!.headers).not.toHaveProperty('authorization')
  expect(other.requests[0]!.headers['range']).toBe('bytes=1-')
})

test.each(['http://192.168.0.1/a', 'file:///etc/passwd', 'http://user:pw@127.0.0.1/a'])(
  'a result at %s is refused',
  async (address) => {
    const fetching = upstream('http://127.0.0.1:1', 'own-key').fetch(get(), address)
    await expect(fetching).rejects.toMatchObject({ code: 'url_refused' })
  },
)

test.skipIf(!canMakeCertificates)('certificates are checked (needs openssl)', async () => {
  const tls = makeCertificate()
  const { url } = await localServer([json({}), json({})], { tls, verify: false })
  const untrusted = { fault: 'certificate' }
  await expect(upstream(url, 'own').send(get(), '/v1/x')).rejects.toMatchObject(untrusted)
  expect((await upstream(url, 'own', tls.cert).send(get(), '/v1/x')).status).toBe(200)
})
