import { beforeEach, describe, expect, test } from 'vitest'
import type { ImageSource } from '../../../src/operations/image-sources.ts'
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

const create = async (argv: readonly string[], more: TestOverrides = {}) =>
  (await imageCall(['create', '-m', 'm', ...argv], { cwd, ...more })).request

describe('the prompt', () => {
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
  ])('%s', async (_, argv, more, prompt) => {
    const request = await create(argv, more)
    expect([request.prompt, request.body['prompt']]).toEqual([prompt, prompt])
  })

  test.each<[string, readonly string[], TestOverrides, string]>([
    ['missing', [], {}, 'prompt_missing'],
    ['blank', [' \n'], {}, 'prompt_missing'],
    ['not text', ['-'], { stdin: png }, 'wrong_type'],
  ])('%s is refused', async (_, argv, more, code) => {
    expect(await imageRefusal(['create', '-m', 'm', ...argv], { cwd, ...more })).toMatchObject({
      exit: 2,
      code,
    })
  })
})

const edit = async (argv: readonly string[], more: TestOverrides = {}) =>
  (await imageCall(['edit', '-m', 'm', ...argv], { cwd, ...more })).request

/** What would be sent; a chunk holds only until the next one comes. */
async function bytesOf(source: ImageSource): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of source.open()) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}

describe('a source', () => {
  test('is a file, known by its bytes and not by its name', async () => {
    writeFiles(cwd, { 'really-webp.png': webpBytes('VP8L', Buffer.from([0x2f, 0, 0, 0, 0, 0])) })
    const sources = '--image a.png --image b.jpg --image really-webp.png'.split(' ')
    const { images, mask } = await edit([...sources, 'x'])
    expect(mask).toBeUndefined()
    expect(images.map(({ fileName, mediaType, label }) => [fileName, mediaType, label])).toEqual([
      ['a.png', 'image/png', 'a.png'],
      ['b.jpg', 'image/jpeg', 'b.jpg'],
      ['really-webp.png', 'image/webp', 'really-webp.png'],
    ])
    expect(images[0]).toMatchObject({ bytes: png.length, info: { width: 3, height: 2, hasAlpha: true } })
  })

  test('is standard input, and the prompt then is the words alone', async () => {
    const request = await edit(['--image', '-', 'words'], { stdin: png })
    expect(request.prompt).toBe('words')
    expect(request.images).toMatchObject([{ fileName: 'stdin.png', bytes: png.length, label: '-' }])
    expect(await bytesOf(request.images[0]!)).toEqual(png)
  })

  test('is a data URL', async () => {
    const { images } = await edit(['--image', `data:image/gif;base64,${png.toString('base64')}`, 'x'], {
      env: { ...gatewayOnly, MODELGATE_API_KEY: 'key' },
    })
    expect(images).toMatchObject([{ mediaType: 'image/png', bytes: png.length, fileName: 'image.png' }])
  })

  test('may be the mask', async () => {
    const { images, mask } = await edit(['--image', 'a.png', '--mask', '-', 'x'], { stdin: png })
    expect([images.length, mask?.field, mask?.bytes]).toEqual([1, 'mask', png.length])
  })

  const refusal = (argv: readonly string[], more: TestOverrides = {}) =>
    imageRefusal(['edit', '-m', 'gpt-image-2', ...argv, 'x'], { cwd, ...more })

  test.each<[string, readonly string[], TestOverrides, number, RegExp]>([
    ['missing', [], {}, 2, /^--image is missing: an edit starts from an image\.$/],
    ['an empty name', ['--image', ''], {}, 2, /^--image/],
    ['no such file', ['--image', 'nope.png'], {}, 10, /^--image: "nope\.png" cannot be read/],
    ['a folder', ['--image', '.'], {}, 10, /^--image: /],
    ['an empty pipe', ['--image', '-'], {}, 2, /^--image -: it is empty\.$/],
    ['standard input twice', ['--image', '-', '--image', '-'], { stdin: png }, 2, /--image - is given twice/],
    [
      'standard input for two',
      ['--image', '-', '--mask', '-'],
      { stdin: png },
      2,
      /both --image - and --mask - want it/,
    ],
    ['no picture', ['--image', 'words.txt'], {}, 2, /^--image "words\.txt" is not an image that can be read/],
    ['two that are missing', ['--image', 'x1', '--image', 'x2'], {}, 10, /"x1" [^\n]*\n--image: "x2"/],
  ])('that is %s is refused', async (_, argv, more, exit, message) => {
    const found = await refusal(argv, more)
    expect(found.lines.join('\n')).toMatch(message)
    expect(found.exit).toBe(exit)
  })

  test('of another kind is refused by its flag and name', async () => {
    writeFiles(cwd, { 'x.png': gifBytes(), 'bad.png': png.subarray(0, 20) })
    expect((await refusal(['--image', 'x.png'])).lines).toEqual([
      '--image "x.png" is image/gif; gpt-image-2 takes image/png, image/webp, image/jpeg.',
    ])
    expect((await refusal(['--image', 'bad.png'])).lines).toEqual([
      '--image "bad.png" is not an image that can be read (image/png).',
    ])
    expect((await refusal(['--image', 'a.png', '--mask', 'b.jpg'])).lines).toEqual([
      '--mask "b.jpg" must be a PNG, not image/jpeg.',
    ])
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
      /^--image "http:\/\/10\.0\.0\.1\/a\.png": .*10\.0\.0\.1 is not a public address/,
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
    expect(lines.join('\n')).toMatch(message)
    expect(lines[0]).toMatch(/^--image /)
    expect(exit).toBe(2)
  })

  test('cannot be part of a command to paste', async () => {
    const words = ['edit', '-m', 'm', '--curl', '--image', 'http://127.0.0.1/a.png', 'x']
    expect(await imageRefusal(words, { cwd })).toMatchObject({
      exit: 2,
      lines: ['--curl cannot show a request with images from URLs.'],
    })
  })
})
