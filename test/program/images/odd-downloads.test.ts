import { describe, expect, test } from 'vitest'
import { localServer } from '../../support/local-server.ts'
import type { Json } from '../../support/running-sandbox.ts'
import {
  closeDelimited,
  end,
  head,
  readAll,
  reset,
  text,
  write,
  type ServerReply,
} from '../../support/server-replies.ts'
import { given } from './image-run.ts'
import { blue, images, large, red } from './replies.ts'
import { sample } from '../../support/sample.ts'

const html = '<html><title>Sign in</title></html>'

/** A reply with a picture. */
function picture(bytes: Uint8Array, headers: Readonly<Record<string, string>> = {}): ServerReply {
  return [
    readAll,
    write(head(200, { 'content-length': String(bytes.length), ...headers })),
    write(bytes),
    end,
  ]
}

/** A picture that breaks off after so many bytes. */
function cut(bytes: Uint8Array, at: number, headers: Readonly<Record<string, string>> = {}): ServerReply {
  const length = String(bytes.length)
  return [
    readAll,
    write(head(200, { 'content-length': length, ...headers })),
    write(bytes.subarray(0, at)),
    reset,
  ]
}

/** A picture, or its beginning, that ends with the connection. */
const closing = (bytes: Uint8Array, length = bytes.length): ServerReply =>
  closeDelimited([bytes.subarray(0, length)])

const redirect = (location: string): ServerReply => text('', { status: 302, headers: { location } })

interface Case {
  readonly name: string
  /** The address in the reply, or what stands in place of it; one on the gateway itself when left out. */
  readonly url?: string
  /** What the gateway does after its reply. */
  readonly downloads: readonly ServerReply[]
  readonly exit: number
  readonly says?: RegExp
  readonly saved?: Uint8Array
  /** What is kept as x.damaged.png. */
  readonly damaged?: Uint8Array
  readonly waits?: number
}

const cases: readonly Case[] = [
  { name: 'a picture', downloads: [picture(red)], exit: 0, saved: red },
  {
    name: 'a picture called text',
    downloads: [picture(red, { 'content-type': 'text/plain' })],
    exit: 0,
    saved: red,
  },
  { name: 'a large picture', downloads: [picture(large)], exit: 0, saved: large },
  { name: '403', downloads: [text('expired', { status: 403 })], exit: 11, says: /HTTP 403/ },
  { name: '410', downloads: [text('', { status: 410 })], exit: 4, says: /HTTP 410/ },
  {
    name: '404 for good',
    downloads: Array(4).fill(text('', { status: 404 })),
    exit: 11,
    says: /404/,
    waits: 3,
  },
  {
    name: '404 for a moment',
    downloads: [text('', { status: 404 }), picture(red)],
    exit: 0,
    saved: red,
    waits: 1,
  },
  {
    name: '503 for good',
    downloads: Array(3).fill(text('', { status: 503 })),
    exit: 11,
    says: /503/,
    waits: 2,
  },
  {
    name: '500 for a moment',
    downloads: [text('', { status: 500 }), picture(red)],
    exit: 0,
    saved: red,
    waits: 1,
  },
  { name: 'a page', downloads: [text(html)], exit: 11, says: /an HTML or XML document instead of an image/ },
  { name: 'an empty file', downloads: [text('')], exit: 11, says: /empty/ },
  {
    name: 'a damaged picture, twice the same',
    downloads: Array(2).fill(picture(red.subarray(0, -5))),
    exit: 11,
    says: /a damaged image: the PNG data ends too early\. The received data is kept as "x\.damaged\.png"\.$/,
    damaged: red.subarray(0, -5),
    waits: 1,
  },
  {
    name: 'a picture that was still being written',
    downloads: [picture(red.subarray(0, -5)), picture(red)],
    exit: 0,
    saved: red,
    waits: 1,
  },
  {
    name: 'a damaged picture, and then another',
    downloads: [picture(red.subarray(0, -5)), picture(blue)],
    exit: 0,
    saved: blue,
    waits: 1,
  },
  {
    name: 'a picture that breaks off for good',
    downloads: Array(3).fill(cut(red, 40)),
    exit: 11,
    says: /The received data is kept as "x\.damaged\.png"\.$/,
    damaged: red.subarray(0, 40),
    waits: 2,
  },
  {
    name: 'a picture that ends early by closing, for good',
    downloads: [closing(red, 50), closing(red, 45), closing(red, 60)],
    exit: 11,
    says: /closed before the download was complete: the PNG data ends too early\. The received data is kept/,
    damaged: red.subarray(0, 60),
    waits: 2,
  },
  {
    name: 'a picture that ends early by closing, once',
    downloads: [closing(red, 50), picture(red)],
    exit: 0,
    saved: red,
    waits: 1,
  },
  { name: 'a picture that ends by closing', downloads: [closing(red)], exit: 0, saved: red },
  {
    name: 'a part that nobody asked for',
    downloads: Array.from({ length: 3 }, () => [
      readAll,
      write(head(206, { 'content-length': '60', 'content-range': 'bytes 0-59/*' })),
      write(red.subarray(0, 60)),
      end,
    ]),
    exit: 11,
    says: /HTTP 206/,
    waits: 2,
  },
  {
    name: 'a picture that breaks off once',
    downloads: [cut(large, 200_000), picture(large)],
    exit: 0,
    saved: large,
    waits: 1,
  },
  { name: 'a redirect on the gateway', downloads: [redirect('/b'), picture(red)], exit: 0, saved: red },
  {
    name: 'redirects without end',
    downloads: Array(6).fill(redirect('/again')),
    exit: 11,
    says: /redirects more than 5 times/,
  },
  {
    name: 'a redirect to a private address',
    downloads: [redirect('http://192.168.1.1/a.png')],
    exit: 11,
    says: /192\.168\.1\.1 is not a public address/,
  },
  {
    name: 'a redirect to a mapped address',
    downloads: [redirect('http://[::ffff:169.254.169.254]/latest')],
    exit: 11,
    says: /not a public address/,
  },
  {
    name: 'a redirect to a file',
    downloads: [redirect('file:///etc/passwd')],
    exit: 11,
    says: /file: URLs are not allowed/,
  },
  {
    name: 'a redirect to nowhere',
    downloads: [text('', { status: 302 })],
    exit: 11,
    says: /redirects without a Location/,
  },
  {
    name: 'a private address',
    url: 'http://10.1.2.3/a.png',
    downloads: [],
    exit: 11,
    says: /10\.1\.2\.3 is not a public address/,
  },
  {
    name: 'the address of cloud metadata',
    url: 'http://169.254.169.254/latest',
    downloads: [],
    exit: 11,
    says: /not a public address/,
  },
  {
    name: 'an address with a password',
    url: 'http://a:b@127.0.0.1/x',
    downloads: [],
    exit: 11,
    says: /user name or password/,
  },
  {
    name: 'another kind of address',
    url: 'ftp://127.0.0.1/x',
    downloads: [],
    exit: 11,
    says: /ftp: URLs are not allowed/,
  },
  { name: 'no address at all', url: 'http://', downloads: [], exit: 11, says: /not a valid URL/ },
]

/** An address as it can be used from anywhere. */
function whole(url: string, server: { readonly url: string }): string {
  return url.startsWith('/') ? server.url + url : url
}

const named = cases.map((one) => [`${one.exit} ${one.name}`, one] as const)
const some = sample(named, { quick: 0.5, ci: Infinity }, ([name]) => name)

describe.each(some)('%s', (_, one) => {
  const url = one.url ?? '/files/a.png'

  test('in words', async () => {
    const { runThroughWaits, files, read } = await given(images({ url }), ...one.downloads)
    const { code, out, err, waits } = await runThroughWaits(['create', '-m', 'm', '-o', 'x.png', 'A kite'])
    expect([code, waits.length]).toEqual([one.exit, one.waits ?? 0])
    const name = one.saved !== undefined ? 'x.png' : one.damaged !== undefined ? 'x.damaged.png' : undefined
    expect(files()).toEqual(name === undefined ? [] : [name])
    expect(name === undefined || read(name).equals((one.saved ?? one.damaged)!)).toBe(true)
    expect(out).toBe(one.saved === undefined ? '' : 'x.png\n')
    const problems = err.split('\n').filter((line) => line.startsWith('modelgate: '))
    expect(problems.length).toBe(one.saved === undefined ? 1 : 0)
    expect(problems.join()).toMatch(one.says ?? '')
    // It has been paid for: whoever wants it is told how to get it, and not to pay for it again.
    const way =
      one.exit === 11
        ? /To fetch it, free: modelgate wait image_[0-9a-f]{10}\n/
        : /The image has been made; its address is http/
    expect(way.test(err)).toBe(one.saved === undefined)
    expect(err).not.toMatch(/run it again|running it again|--raw|nothing was sent/i)
  })

  test('as JSON: billed, and where it is', async () => {
    const { server, runThroughWaits } = await given(images({ url }), ...one.downloads)
    const { code, out, err } = await runThroughWaits(['create', '-m', 'm', '-o', 'x.png', '--json', 'A kite'])
    expect(code).toBe(one.exit)
    const line = err.split('\n').findLast((text) => text.startsWith('{'))
    const document = JSON.parse(one.exit === 0 ? out : (line ?? '')) as Json
    expect(document).toMatchObject(
      one.exit === 0
        ? { files: [{ path: 'x.png' }], links: [], failures: [] }
        : {
            error: { exit_code: one.exit, billed: 'yes', phase: 'result' },
            partial: { files: [], links: [{ index: 1, url: whole(url, server) }] },
          },
    )
  })
})

test('the key goes to the gateway alone', async () => {
  const other = await localServer([picture(red), picture(blue)])
  const { server, run } = await given(
    images({ url: `${other.url}/direct.png` }, { url: '/redirected.png' }, { url: '/own.png' }),
    redirect(`${other.url}/b.png`),
    picture(red),
  )
  const words = ['create', '-m', 'm', '-n', '3', '-o', 'x.png', 'A kite']
  expect((await run(words)).code).toBe(0)
  expect(other.requests.map(({ line, headers }) => [line, headers['authorization']])).toEqual([
    ['GET /direct.png HTTP/1.1', undefined],
    ['GET /b.png HTTP/1.1', undefined],
  ])
  expect(server.requests.map(({ headers }) => headers['authorization']?.slice(0, 7))).toEqual(
    Array(3).fill('Bearer '),
  )
})

test('of several results one that is gone does not keep the others', async () => {
  const { server, run, files } = await given(
    images({ url: '/1' }, { url: '/2' }, { url: '/3' }),
    picture(red),
    text('', { status: 410 }),
    picture(blue),
  )
  const { code, out } = await run(['create', '-m', 'm', '-n', '3', '-o', 'x.png', '--json', 'A kite'])
  expect(code).toBe(12)
  expect(JSON.parse(out)).toMatchObject({
    files: [{ path: 'x-1.png' }, { path: 'x-3.png' }],
    failures: [{ index: 2, code: 'result_expired' }],
    links: [{ index: 2, url: `${server.url}/2` }],
  })
  expect(files()).toEqual(['x-1.png', 'x-3.png'])
})

test('in words, too, one that is gone is told with its address', async () => {
  const { server, run } = await given(
    images({ url: '/1' }, { url: '/2' }),
    picture(red),
    text('', { status: 410 }),
  )
  const { code, err } = await run(['create', '-m', 'm', '-n', '2', '-o', 'x.png', 'A kite'])
  expect(code).toBe(12)
  expect(err).toMatch(/^image 2 failed: .* \(HTTP 410\)\. The image has been made; its address is http/m)
  expect(err).toContain(`its address is ${server.url}/2\n`)
})

test('of several that are gone each is told with its address', async () => {
  const gone = text('', { status: 410 })
  const { server, run } = await given(images({ url: '/1' }, { url: '/2' }), gone, gone)
  const { code, err } = await run(['create', '-m', 'm', '-n', '2', '-o', 'x.png', 'A kite'])
  expect(code).toBe(4)
  const told = err.split('\n').filter((line) => line.includes('its address is'))
  expect(told.map((line) => line.replace(/^.* /, ''))).toEqual([`${server.url}/1`, `${server.url}/2`])
})

test('--no-download prints addresses that can be used, one a line', async () => {
  const odd = 'https://a.example/b\n/c\u001b[31m?d=%2F#e'
  const sent = 'https://a.example/%2f?sig=A%3d&&x'
  const { server, run } = await given(images({ url: '/1?x=y' }, { url: odd }, { url: sent }))
  const words = ['create', '-m', 'm', '-n', '3', '--no-download', 'A kite']
  const { code, out } = await run(words)
  expect([code, out.trimEnd().split('\n')]).toEqual([
    0,
    [`${server.url}/1?x=y`, 'https://a.example/b/c%1B[31m?d=%2F#e', sent],
  ])
})

test('what has been fetched is told before the next is fetched', async () => {
  const { run } = await given(images({ url: '/1' }, { url: '/2' }), picture(red), text('', { status: 403 }))
  const words = ['create', '-m', 'm', '-n', '2', '-o', 'x.png', '--jsonl', 'A kite']
  const { out } = await run(words)
  const events = out
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { type: string }).type)
  expect(events).toEqual(['start', 'image-save', 'image-fail', 'end'])
})

test('of a reply that is half broken, what has an address is fetched', async () => {
  const { run, read } = await given(images({ url: '/1' }, { b64_json: '*' }, red), picture(blue))
  const { code, out } = await run(['create', '-m', 'm', '-n', '3', '-o', 'x.png', 'A kite'])
  expect([code, out]).toEqual([12, 'x-1.png\nx-3.png\n'])
  expect(read('x-1.png').equals(blue)).toBe(true)
})

test('--allow-private-urls lets an address through that is not public', async () => {
  const { run } = await given(images({ url: 'http://127.0.0.2:1/a.png' }))
  const words = ['create', '-m', 'm', '--allow-private-urls', '-o', 'x.png', '--max-retries', '0', 'A kite']
  const { code, err } = await run(words)
  // Nobody listens there; the image has been made all the same, so it is no reason to make it again.
  expect(code).toBe(11)
  expect(err).toMatch(/modelgate wait --allow-private-urls image_\w+\n/)
})

test('an image that cannot be verified, of another format or of none that is known, is kept with a warning', async () => {
  const bitmap = Buffer.concat([Buffer.from('BM\x3a\0\0\0\0\0\0\0', 'latin1'), Buffer.alloc(500, 3)])
  const unknown = Buffer.alloc(500, 3)
  const { run, read } = await given(
    images({ url: '/closed' }, { url: '/framed' }, { url: '/unknown' }),
    closing(bitmap),
    picture(bitmap),
    closing(unknown),
  )
  const words = ['create', '-m', 'm', '-n', '3', '-o', 'x-{index}.{ext}', '--json', 'A kite']
  const { code, out } = await run(words)
  expect([code, JSON.parse(out)]).toMatchObject([
    0,
    {
      files: [
        { path: 'x-1.bmp', format: 'bmp', width: null, verified: false },
        { path: 'x-2.bmp', format: 'bmp', verified: false },
        { path: 'x-3.bin', format: 'bin', mime_type: 'application/octet-stream', verified: false },
      ],
      warnings: ['x-1.bmp', 'x-2.bmp', 'x-3.bin'].map(
        (path) => `Could not verify that the image is complete: ${path} may be truncated.`,
      ),
    },
  ])
  expect(read('x-3.bin').equals(unknown)).toBe(true)
})
