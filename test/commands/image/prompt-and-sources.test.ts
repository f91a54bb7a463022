import { beforeEach, describe, expect, test } from 'vitest'
import { gifBytes, jpegBytes, pngBytes, webpBytes } from '../../support/image-bytes.ts'
import { gatewayOnly, imageCall, imageRefusal } from '../../support/image-call.ts'
import { localServer } from '../../support/local-server.ts'
import { head, readAll, text, write, end, type ServerReply } from '../../support/server-replies.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import type { TestOverrides } from '../../support/test-context.ts'

const png = pngBytes({ width: 3, height: 2 })

let cwd = ''
beforeEach(() => {
  cwd = temporaryFolder()
  writeFiles(cwd, { 'a.png': png, 'b.jpg': jpegBytes(), 'words.txt': 'from a file\n' })
})

test.each<[string, readonly string[], TestOverrides, string]>([
  ['is the words of the call', ['A', 'red', 'kite'], {}, 'A red kite'],
  ['is a file', ['@words.txt'], {}, 'from a file\n'],
  ['is standard input', ['-'], { stdin: 'piped' }, 'piped'],
  ['is a pipe', [], { stdin: 'piped' }, 'piped'],
  ['is the words alone beside a pipe', ['In', 'blue'], { stdin: 'A kite' }, 'In blue'],
  ['is of --body', ['--body', '{"prompt":"body"}'], {}, 'body'],
  ['of words outranks --body', ['--body', '{"prompt":"body"}', 'words'], {}, 'words'],
  ['of --set outranks all', ['--set', 'prompt="set"', 'words'], {}, 'set'],
  ['keeps what would be a dash or a token', ['A --x {index}'], {}, 'A --x {index}'],
])('the prompt %s', async (_, argv, more, prompt) => {
  const { request } = await imageCall(['create', '-m', 'm', ...argv], { cwd, ...more })
  expect([request.prompt, request.body['prompt']]).toEqual([prompt, prompt])
})

test.each<[string, readonly string[], TestOverrides, string]>([
  ['missing', [], {}, 'prompt_missing'],
  ['blank', [' \n'], {}, 'prompt_missing'],
  ['not text', ['-'], { stdin: png }, 'wrong_type'],
])('a prompt that is %s is refused', async (_, argv, more, code) => {
  const refused = await imageRefusal(['create', '-m', 'm', ...argv], { cwd, ...more })
  expect(refused).toMatchObject({ exit: 2, code })
})

const edit = async (argv: readonly string[], more: TestOverrides = {}) =>
  (await imageCall(['edit', '-m', 'm', ...argv], { cwd, ...more })).request

describe('a source', () => {
  test('is a file, known by its bytes and not by its name', async () => {
    writeFiles(cwd, { 'really-webp.png': webpBytes('VP8L', Buffer.from([0x2f, 0, 0, 0, 0, 0])) })
    const { images, mask } = await edit('--image a.png --image b.jpg --image really-webp.png x'.split(' '))
    expect(mask).toBeUndefined()
    const info = { width: 3, height: 2, hasAlpha: true }
    expect(images).toMatchObject([
      { fileName: 'a.png', mediaType: 'image/png', label: 'a.png', bytes: png.length, info },
      { fileName: 'b.jpg', mediaType: 'image/jpeg', label: 'b.jpg' },
      { fileName: 'really-webp.png', mediaType: 'image/webp', label: 'really-webp.png' },
    ])
  })

  test('is standard input, and the prompt then is the words alone', async () => {
    const { prompt, images } = await edit(['--image', '-', 'words'], { stdin: png })
    expect(prompt).toBe('words')
    expect(images).toMatchObject([{ fileName: 'stdin.png', bytes: png.length, label: '-' }])
    const sent: Buffer[] = []
    // A chunk holds only until the next one comes.
    for await (const chunk of images[0]!.open()) sent.push(Buffer.from(chunk))
    expect(Buffer.concat(sent)).toEqual(png)
  })

  test('is a data URL', async () => {
    const env = { ...gatewayOnly, MODELGATE_API_KEY: 'key' }
    const url = `data:image/gif;base64,${png.toString('base64')}`
    const { images } = await edit(['--image', url, 'x'], { env })
    expect(images).toMatchObject([{ mediaType: 'image/png', bytes: png.length, fileName: 'image.png' }])
  })

  test('may be the mask', async () => {
    const { images, mask } = await edit(['--image', 'a.png', '--mask', '-', 'x'], { stdin: png })
    expect([images.length, mask?.field, mask?.bytes]).toEqual([1, 'mask', png.length])
  })

  test.each<[readonly string[], number, RegExp, TestOverrides?]>([
    [[], 2, /^--image is missing: an edit starts from an image\.$/],
    [['--image', ''], 2, /^--image/],
    [['--image', 'nope.png'], 10, /^--image: "nope\.png" cannot be read/],
    [['--image', '.'], 10, /^--image: /],
    [['--image', '-'], 2, /^--image -: it is empty\.$/],
    [['--image', '-', '--image', '-'], 2, /--image - is given twice/, { stdin: png }],
    [['--image', '-', '--mask', '-'], 2, /both --image - and --mask - want it/, { stdin: png }],
    [['--image', 'words.txt'], 2, /^--image "words\.txt" is not an image that can be read/],
    [['--image', 'x1', '--image', 'x2'], 10, /"x1" [^\n]*\n--image: "x2"/],
    [
      ['--image', 'x.png'],
      2,
      /"x\.png" is image\/gif; gpt-image-2 takes image\/png, image\/webp, image\/jpeg\.$/,
    ],
    [['--image', 'bad.png'], 2, /^--image "bad\.png" is not an image that can be read \(image\/png\)\.$/],
    [['--image', 'a.png', '--mask', 'b.jpg'], 2, /^--mask "b\.jpg" must be a PNG, not image\/jpeg\.$/],
  ])('is refused: %j', async (argv, exit, message, more) => {
    writeFiles(cwd, { 'x.png': gifBytes(), 'bad.png': png.subarray(0, 20) })
    const found = await imageRefusal(['edit', '-m', 'gpt-image-2', ...argv, 'x'], { cwd, ...more })
    expect([found.exit, found.lines.join('\n')]).toEqual([exit, expect.stringMatching(message)])
  })
})

describe('a source by URL', () => {
  const picture: ServerReply = [
    readAll,
    write(head(200, { 'content-length': String(png.length), 'content-type': 'text/plain' })),
    write(png),
    end,
  ]
  const env = (url: string) => ({ MODELGATE_BASE_URL: url, MODELGATE_API_KEY: 'secret-key' })

  test('of the gateway is fetched with the key', async () => {
    const server = await localServer([picture])
    const { images } = await edit(['--image', `${server.url}/a`, 'x'], { env: env(server.url) })
    expect(images).toMatchObject([{ mediaType: 'image/png', bytes: png.length, fileName: 'image.png' }])
    expect(server.requests[0]!.headers['authorization']).toBe('Bearer secret-key')
  })

  test.each<[string, (other: string) => string, readonly ServerReply[], RegExp]>([
    [
      'a private address',
      () => 'http://10.0.0.1/a.png',
      [],
      /a\.png": .*10\.0\.0\.1 is not a public address/,
    ],
    ['an address with a password', () => 'http://me:pw@127.0.0.1/a', [], /user name or password/],
    ['something that is gone', (url) => `${url}/a`, [text('', { status: 410 })], /HTTP 410/],
    ['nothing', (url) => `${url}/a`, [text('')], /is empty/],
    ['a page', (url) => `${url}/a`, [text('<html>')], /is not an image that can be read/],
    ['broken base64', () => 'data:image/png;base64,%%%', [], /base64/],
  ])('that is %s is refused, naming the flag', async (_, urlFor, replies, message) => {
    const server = await localServer(replies)
    const words = ['edit', '-m', 'm', '--image', urlFor(server.url), 'x']
    const { exit, lines } = await imageRefusal(words, { cwd, env: env(server.url) })
    expect([exit, lines.join('\n')]).toEqual([2, expect.stringMatching(message)])
    expect(lines[0]).toMatch(/^--image /)
  })

  test('cannot be part of a command to paste', async () => {
    const words = ['edit', '-m', 'm', '--curl', '--image', 'http://127.0.0.1/a.png', 'x']
    const line = '--curl cannot show a request with images from URLs.'
    expect(await imageRefusal(words, { cwd })).toMatchObject({ exit: 2, lines: [line] })
  })
})
