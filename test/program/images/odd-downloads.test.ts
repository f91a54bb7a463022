import { expect, test } from 'vitest'
import { closeDelimited, text, type ServerReply } from '../../support/server-replies.ts'
import { given } from './image-run.ts'
import { blue, file, images, red } from './replies.ts'

const damaged = red.subarray(0, -5)
const gone = text('', { status: 410 })

interface Case {
  readonly name: string
  /** The address in the reply; one on the gateway itself when left out. */
  readonly url?: string
  readonly downloads: readonly ServerReply[]
  readonly exit: number
  readonly says: RegExp
  readonly files?: Readonly<Record<string, Uint8Array>>
}

// What a download meets on its way is in test/gateway/download.test.ts and in test/faults; here is what a user gets.
test.each<Case>([
  {
    name: 'a picture that was still being written',
    downloads: [file(damaged), file(blue)],
    exit: 0,
    says: /^$/,
    files: { 'x.png': blue },
  },
  {
    name: 'a damaged picture that stays so',
    downloads: Array(3).fill(file(damaged)),
    exit: 11,
    says: /a damaged image: the PNG data ends too early\. The received data is kept as "x\.damaged\.png"\.$/,
    files: { 'x.damaged.png': damaged },
  },
  { name: 'a picture that is gone', downloads: [gone], exit: 4, says: /HTTP 410/ },
  {
    name: 'a private address',
    url: 'http://10.1.2.3/a.png',
    downloads: [],
    exit: 11,
    says: /10\.1\.2\.3 is not a public address/,
  },
])('$name', async ({ url = '/files/a.png', downloads, exit, says, files: kept = {} }) => {
  const { run, files, read } = await given(images({ url }), ...downloads)
  const { code, out, err } = await run(['create', '-m', 'm', '-o', 'x.png', 'A kite'])
  expect([code, out, files()]).toEqual([exit, exit === 0 ? 'x.png\n' : '', Object.keys(kept)])
  for (const [name, bytes] of Object.entries(kept)) expect(read(name).equals(bytes)).toBe(true)
  const problems = err.split('\n').filter((line) => line.startsWith('modelgate: '))
  expect(problems.join()).toMatch(says)
  // It has been paid for: whoever wants it is told how to get it, and not to pay for it again.
  expect(err.includes('To fetch it, free: modelgate wait image_')).toBe(exit === 11)
  expect(err).not.toMatch(/run it again|running it again|--raw|nothing was sent/i)
})

test('of several results one that is gone does not keep the others', async () => {
  const three = [{ url: '/1' }, { url: '/2' }, { url: '/3' }]
  const { server, run, files } = await given(images(...three), file(red), gone, file(blue))
  const { code, out } = await run(['create', '-m', 'm', '-n', '3', '-o', 'x.png', '--json', 'A kite'])
  expect([code, files(), JSON.parse(out)]).toMatchObject([
    12,
    ['x-1.png', 'x-3.png'],
    {
      files: [{ path: 'x-1.png' }, { path: 'x-3.png' }],
      failures: [{ index: 2, code: 'result_expired' }],
      links: [{ index: 2, url: `${server.url}/2` }],
    },
  ])
})

test('--no-download prints addresses that can be used, one a line', async () => {
  const odd = 'https://a.example/b\n/c\u001b[31m?d=%2F#e'
  const sent = 'https://a.example/%2f?sig=A%3d&&x'
  const { server, run } = await given(images({ url: '/1?x=y' }, { url: odd }, { url: sent }))
  expect(await run(['create', '-m', 'm', '-n', '3', '--no-download', 'A kite'])).toMatchObject({
    code: 0,
    out: `${server.url}/1?x=y\nhttps://a.example/b/c%1B[31m?d=%2F#e\n${sent}\n`,
  })
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
    closeDelimited([bitmap]),
    file(bitmap),
    closeDelimited([unknown]),
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
