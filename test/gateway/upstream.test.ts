import { expect, test } from 'vitest'
import { systemClock } from '../../src/context.ts'
import { createUpstream } from '../../src/gateway/upstream.ts'
import { canMakeCertificates, makeCertificate } from '../support/certificate.ts'
import { localServer } from '../support/local-server.ts'
import { json, text } from '../support/server-replies.ts'

const { signal } = new AbortController()

function upstream(url: string, key: string | undefined, ca?: string) {
  const network = ca === undefined ? {} : { ca }
  return createUpstream({
    baseUrl: new URL(url),
    key,
    clock: systemClock,
    headers: {},
    connectMs: 10_000,
    ...network,
  })
}

async function textOf({ body }: { readonly body: AsyncIterable<Uint8Array> }): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

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
  await upstream(server.url, 'own-key').send(
    { method: 'POST', headers, body: Buffer.from('{}'), signal },
    '/v1/responses',
  )
  const [received] = server.requests
  expect(received!.line).toBe('POST /v1/responses HTTP/1.1')
  expect(received!.headers).toEqual({
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

test.for([
  ['a bearer token', { authorization: 'Bearer theirs' }, '/v1/x', 'own', { authorization: 'Bearer own' }],
  ['the header of Google', { 'x-goog-api-key': 'theirs' }, '/v1/x', 'own', { 'x-goog-api-key': 'own' }],
  ['the query', {}, '/v1/x?key=theirs&alt=sse', 'own', { 'x-goog-api-key': 'own' }],
  ['no key', {}, '/v1/x', 'own', { authorization: 'Bearer own' }],
  [
    'a bearer token, none configured',
    { authorization: 'Bearer theirs' },
    '/v1/x',
    undefined,
    { authorization: 'Bearer theirs' },
  ],
  ['the query, none configured', {}, '/v1/x?key=theirs', undefined, { 'x-goog-api-key': 'theirs' }],
  ['no key, none configured', {}, '/v1/x', undefined, {}],
] as const)('the key goes in the header of the caller: %s', async ([, headers, path, key, expected]) => {
  const server = await localServer([json({})])
  await upstream(server.url, key).send({ method: 'GET', headers, signal }, path)
  const [{ line, headers: received }] = server.requests as [(typeof server.requests)[0]]
  const sent = Object.entries(received).filter(([name]) => /authorization|key/.test(name))
  expect(Object.fromEntries(sent)).toEqual(expected)
  expect(line).not.toContain('theirs')
})

test('the path in front of a gateway is kept', async () => {
  const server = await localServer([json({})])
  await upstream(`${server.url}/proxy/`, 'own').send(
    { method: 'GET', headers: {}, signal },
    '/v1/models?limit=1',
  )
  expect(server.requests[0]!.line).toBe('GET /proxy/v1/models?limit=1 HTTP/1.1')
})

test('a result elsewhere gets no key, one at the gateway does', async () => {
  const [gateway, other] = [await localServer([text('own')]), await localServer([text('other')])]
  const { fetch } = upstream(gateway.url, 'own-key')
  const request = {
    method: 'GET',
    headers: { authorization: 'Bearer x', range: 'bytes=1-' },
    signal,
  } as const
  expect(await textOf(await fetch(request, `${gateway.url}/a`))).toBe('own')
  expect(await textOf(await fetch(request, `${other.url}/a?sig=s`))).toBe('other')
  expect(gateway.requests[0]!.headers['authorization']).toBe('Bearer own-key')
  expect(other.requests[0]!.headers).not.toHaveProperty('authorization')
  expect(other.requests[0]!.headers['range']).toBe('bytes=1-')
})

test.each(['http://192.168.0.1/a', 'file:///etc/passwd', 'http://user:pw@127.0.0.1/a'])(
  'a result at %s is refused',
  async (address) => {
    const { fetch } = upstream('http://127.0.0.1:1', 'own-key')
    await expect(fetch({ method: 'GET', headers: {}, signal }, address)).rejects.toMatchObject({
      code: 'url_refused',
    })
  },
)

test.skipIf(!canMakeCertificates)('certificates are checked (needs openssl)', async () => {
  const { key, cert } = makeCertificate()
  const server = await localServer([json({}), json({})], { tls: { key, cert }, verify: false })
  const request = { method: 'GET', headers: {}, signal } as const
  await expect(upstream(server.url, 'own').send(request, '/v1/x')).rejects.toMatchObject({
    fault: 'certificate',
  })
  expect((await upstream(server.url, 'own', cert).send(request, '/v1/x')).status).toBe(200)
})
