import { expect, test } from 'vitest'
import { openByteSource } from '../../../src/pipeline/store/shared-store.ts'
import type { StoreNetwork } from '../../../src/pipeline/store/store-request.ts'
import { canMakeCertificates, makeCertificate } from '../../support/certificate.ts'
import { localServer, type ChooseReply } from '../../support/local-server.ts'
import {
  end,
  flood,
  head,
  readHead,
  reset,
  text,
  write,
  type ServerReply,
} from '../../support/server-replies.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { failureOf, fetched, instantClock, twoLines } from './store-samples.ts'

const content = 'One\nTwo\n'
const shelf = `2f/${twoLines}`

/** @param waits receives how long each wait would have been, in milliseconds */
function open(location: string, network: Partial<StoreNetwork> = {}, waits: number[] = []) {
  const context = { ...testContext({ cwd: temporaryFolder() }), clock: instantClock(waits) }
  return openByteSource(context, location, { connection: {}, allowHttp: true, ...network })
}

const redirect = (location: string, status = 302) => text('', { status, headers: { location } })

test.each([
  ['', `/${shelf}`],
  ['/', `/${shelf}`],
  ['/shop/assets//', `/shop/assets/${shelf}`],
  ['/shop?sig=SECRET#top', `/shop/${shelf}?sig=SECRET`],
  ['/a%20b/ü', `/a%20b/%C3%BC/${shelf}`],
])('bytes are fetched by their digest below the address: %j', async (path, target) => {
  const server = await localServer([text(content)])
  const lines: string[] = []
  const store = await open(server.url + path, { trace: (line) => lines.push(line) })
  expect(await fetched(store, twoLines, 8)).toBe(content)
  const [request] = server.requests
  expect(request!.line).toBe(`GET ${target} HTTP/1.1`)
  const names = Object.keys(request!.headers).sort().join(' ')
  expect(names).toBe('accept accept-encoding connection host user-agent')
  expect(`${store.shown} ${lines.join()}`).not.toContain('SECRET')
})

test.each<[string, ServerReply]>([
  ['other bytes', text('Six\nTen\n')],
  ['more', text(`${content}!`)],
  ['bytes without an end', [readHead, write(head(200)), flood('x'.repeat(1000))]],
  ['an encoded body', text('\u001f\u008b', { headers: { 'content-encoding': 'gzip' } })],
  ['a part', text(content, { status: 206 })],
  ['403', text(content, { status: 403 })],
  ['404', text(content, { status: 404 })],
])('%s count as absent, and are not asked for again', async (_, reply) => {
  const server = await localServer([reply])
  expect(await fetched(await open(server.url), twoLines, 8)).toBeUndefined()
})

const cut: ServerReply = [readHead, write(head(200, { 'content-length': '8' }) + 'One\n'), end]

test.each<[string, ServerReply, number]>([
  ['a body that breaks off', cut, 500],
  ['a reset', [readHead, reset], 500],
  ['500', text('', { status: 500 }), 500],
  ['503', text('', { status: 503, headers: { 'retry-after': '7' } }), 7000],
  ['429', text('', { status: 429 }), 500],
])('after %s it is asked for again', async (_, reply, waitMs) => {
  const server = await localServer([reply, text(content)])
  const waits: number[] = []
  expect(await fetched(await open(server.url, {}, waits), twoLines, 8)).toBe(content)
  expect(waits).toEqual([waitMs])
})

test.each([
  ['keeps failing', 502, 6, 'store_unavailable', 5],
  ['fails for good', 501, 1, 'store_unavailable', 5],
  ['demands credentials', 401, 1, 'store_refused', 3],
])('a server that %s (%i) is an error', async (_, status, requests, code, exitCode) => {
  const server = await localServer(Array.from({ length: requests }, () => text('', { status })))
  expect(await failureOf(fetched(await open(server.url), twoLines, 8))).toEqual({
    code,
    exitCode,
    message: expect.stringContaining(`The store ${server.url}/`),
  })
})

test('redirects are followed, five at most, and nobody is told anything', async () => {
  const other = await localServer([text(content)])
  const elsewhere = `http://localhost:${other.port}/x?y`
  const server = await localServer((request) =>
    redirect(request.line.startsWith('GET /4 ') ? elsewhere : hop(request.line), 307),
  )
  expect(await fetched(await open(`${server.url}/?sig=SECRET`), twoLines)).toBe(content)
  const targets = [...server.requests, ...other.requests].map(({ line }) => line.split(' ')[1])
  expect(targets).toEqual([`/${shelf}?sig=SECRET`, '/1', '/2', '/3', '/4', '/x?y'])
  expect(other.requests[0]!.headers).not.toHaveProperty('authorization')
})

/** To `/1` from the first address, to `/2` from that, and so on. */
const hop = (line: string) => `/${Number(/^GET \/(\d) /.exec(line)?.[1] ?? 0) + 1}`

test.each<[string, ChooseReply, string]>([
  ['in a circle', () => redirect('/again'), 'it redirects more than 5 times.'],
  ['to clear text', () => redirect('http://assets.example/'), 'http: URLs are not allowed.'],
  ['to a file', () => redirect('file:///etc/passwd'), 'file: URLs are not allowed.'],
  ['nowhere', () => text('', { status: 301 }), 'it redirects without a Location.'],
  ['with a password', () => redirect('https://me:pw@127.0.0.1/'), 'it contains a user name or password.'],
  ['into a network', () => redirect('https://10.0.0.1/'), '10.0.0.1 is not a public address.'],
  ['to metadata', () => redirect('https://169.254.169.254/'), '169.254.169.254 is not a public address.'],
])('a redirect %s is refused', async (_, reply, reason) => {
  const server = await localServer(reply)
  expect(await failureOf(fetched(await open(server.url), twoLines))).toEqual({
    code: 'url_refused',
    exitCode: 8,
    message: `The store ${server.url}/: The URL is refused: ${reason}`,
  })
})

test.skipIf(!canMakeCertificates)(
  'over TLS it does not lead back to clear text (needs openssl)',
  async () => {
    const tls = makeCertificate()
    const plain = await localServer([], {})
    const server = await localServer([text(content), redirect(plain.url)], { tls })
    const store = await open(server.url, { connection: { ca: tls.cert } })
    expect(await fetched(store, twoLines)).toBe(content)
    expect(await failureOf(fetched(store, twoLines))).toMatchObject({
      message: `The store ${server.url}/: The URL is refused: http: URLs are not allowed.`,
    })
    const unknown = await failureOf(fetched(await open(`https://127.0.0.1:${server.port}`), twoLines))
    expect(unknown).toMatchObject({ code: 'not_sent_certificate', exitCode: 6 })
  },
)

test.each([
  ['http://assets.example/shop', 'The store at assets.example would send files in clear text.'],
  ['https://me:SECRET@host', 'The address of the store at host has a user name or a password in it.'],
  ['https://', 'The address of the store is not valid.'],
  ['https://SECRET:x/y', 'The address of the store is not valid.'],
  ['ftp://host/SECRET', 'A store cannot be at ftp://.'],
])('%s is no store', async (location, message) => {
  expect(await failureOf(open(location))).toEqual({ code: 'config_invalid', exitCode: 2, message })
})
