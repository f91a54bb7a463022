import { describe, expect, test } from 'vitest'
import { localServer } from '../../support/local-server.ts'
import { problemsBySchema } from '../../support/output-validator.ts'
import type { Json } from '../../support/running-sandbox.ts'
import {
  closeDelimited,
  end,
  head,
  json,
  readAll,
  reset,
  text,
  write,
  type ServerReply,
} from '../../support/server-replies.ts'
import { studioAt } from './image-run.ts'
import {
  base64,
  blue,
  completed,
  failed,
  green,
  images,
  large,
  partial,
  red,
  resultOf,
  stream,
  webp,
} from './replies.ts'

/** What one reply leads to. */
interface Case {
  readonly name: string
  readonly reply: ServerReply
  /** Flags beside `-o x.{ext}`, or `-o x-{index}.{ext}` where `-n` is given. */
  readonly words?: readonly string[]
  readonly exit: number
  /** The code of the error. */
  readonly code?: string
  /** What the one message says. */
  readonly says?: RegExp
  /** Names of the files there are in the end, with what is in them. */
  readonly files?: Readonly<Record<string, Uint8Array>>
}

const three = ['-n', '3']
const streamed = ['--stream']
const html = '<html><title>502 Bad Gateway</title></html>'
const whole = JSON.stringify(resultOf(red))
const half = red.subarray(0, red.length - 8)

const cases: readonly Case[] = [
  { name: 'an image', reply: images(red), exit: 0, files: { 'x.png': red } },
  {
    name: 'broken base64',
    reply: images({ b64_json: 'iVBORw0KGgo*!' }),
    exit: 8,
    code: 'bad_base64',
    says: /base64/,
  },
  {
    name: 'base64 that ends early',
    words: ['--strict'],
    reply: images({ b64_json: base64(red).slice(0, -3) }),
    exit: 8,
    says: /base64|damaged/,
  },
  { name: 'an empty text', reply: images({ b64_json: '' }), exit: 8, code: 'no_image' },
  { name: 'null', reply: images({ b64_json: null }), exit: 8, code: 'no_image' },
  { name: 'a number', reply: images({ b64_json: 5 }), exit: 8, code: 'no_image' },
  {
    name: 'HTML in base64',
    reply: images(Buffer.from(html)),
    exit: 8,
    code: 'not_an_image',
    says: /an HTML or XML document in place of an image/,
  },
  { name: 'HTML as base64', reply: images({ b64_json: html }), exit: 8, code: 'bad_base64' },
  {
    name: 'JSON in base64',
    reply: images(Buffer.from('{"error":"no"}')),
    exit: 8,
    code: 'not_an_image',
    says: /a JSON document/,
  },
  { name: 'text in base64', reply: images(Buffer.from('hello')), exit: 8, code: 'not_an_image' },
  {
    name: 'another type than declared',
    reply: json({ ...resultOf(webp), output_format: 'png' }),
    exit: 0,
    files: { 'x.webp': webp },
  },
  {
    name: 'a damaged image: it is what was paid for',
    reply: images(half),
    exit: 0,
    says: /x\.png has a damaged image as it came/,
    files: { 'x.png': half },
  },
  {
    name: 'a damaged image, strictly',
    words: ['--strict'],
    reply: images(half),
    exit: 8,
    code: 'damaged_image',
    says: /x\.png has a damaged image as it came: the PNG data ends too early/,
    files: { 'x.png': half },
  },
  {
    name: 'base64 with line breaks',
    reply: images({ b64_json: base64(red).replaceAll(/.{20}/g, '$&\r\n') }),
    exit: 0,
    files: { 'x.png': red },
  },
  {
    name: 'base64 without padding',
    reply: images({ b64_json: base64(green).replaceAll('=', '') }),
    exit: 0,
    files: { 'x.png': green },
  },
  {
    name: 'a data URL in b64_json',
    reply: images({ b64_json: `data:image/webp;base64,${base64(red)}` }),
    exit: 0,
    files: { 'x.png': red },
  },
  {
    name: 'a data URL in url',
    reply: images({ url: `data:image/png;base64,${base64(red)}` }),
    exit: 0,
    files: { 'x.png': red },
  },
  {
    name: 'a data URL of a page',
    reply: images({ url: `data:text/html;base64,${base64(html)}` }),
    exit: 8,
    code: 'not_an_image',
  },
  {
    name: 'both base64 and a URL',
    reply: images({ b64_json: base64(red), url: 'http://10.0.0.1/never' }),
    exit: 0,
    files: { 'x.png': red },
  },
  {
    name: 'neither base64 nor a URL',
    reply: images({}),
    exit: 8,
    code: 'no_image',
    says: /neither base64 nor a URL/,
  },
  {
    name: 'an item that is an error',
    reply: images({ error: { message: 'Blocked.', code: 'moderation' } }),
    exit: 9,
    says: /Blocked\./,
  },
  { name: 'no items', reply: images(), exit: 9, code: 'nothing_generated', says: /without an image/ },
  {
    name: 'null in place of items',
    reply: json({ created: 1, data: null }),
    exit: 9,
    code: 'nothing_generated',
  },
  {
    name: 'an error with status 200',
    reply: json({ error: { message: 'No.', code: 'odd' } }),
    exit: 9,
    says: /No\./,
  },
  {
    name: 'an error of a relay with status 200',
    reply: json({ code: 'odd', message: 'No.', data: null }),
    exit: 9,
    says: /No\./,
  },
  { name: 'another object', reply: json({ hello: 1 }), exit: 8, code: 'reply_not_understood' },
  {
    name: 'a page',
    reply: text(html, { headers: { 'content-type': 'text/html' } }),
    exit: 8,
    code: 'html_reply',
    says: /502 Bad Gateway/,
  },
  { name: 'nothing', reply: text(''), exit: 8 },
  {
    name: 'a reply shorter than declared',
    reply: [readAll, write(head(200, { 'content-length': '9000' }) + whole), end],
    exit: 0,
    files: { 'x.png': red },
  },
  {
    name: 'a reply that is cut in the image',
    reply: closeDelimited([whole.slice(0, 60)]),
    exit: 7,
    code: 'stream_truncated',
  },
  {
    name: 'a reply that is reset in the image',
    reply: [readAll, write(head(200, { 'content-length': '9000' }) + whole.slice(0, 60)), reset],
    exit: 7,
    says: /may have been billed|billed/,
  },
  { name: 'a reply that is reset before its head', reply: [readAll, reset], exit: 7 },
  { name: 'a large image', reply: images(large), exit: 0, files: { 'x.png': large } },
  {
    name: 'a large image that is reset',
    reply: [
      readAll,
      write(head(200, { 'content-length': '9000000' })),
      write(JSON.stringify(resultOf(large)).slice(0, base64(large).length - 100)),
      reset,
    ],
    exit: 7,
  },

  {
    name: 'fewer than asked',
    words: three,
    reply: images(red, blue),
    exit: 0,
    says: /2 images came, 3 were asked for/,
    files: { 'x-1.png': red, 'x-2.png': blue },
  },
  {
    name: 'fewer than asked, strictly',
    words: [...three, '--strict'],
    reply: images(red, blue),
    exit: 9,
    code: 'fewer_images',
    files: { 'x-1.png': red, 'x-2.png': blue },
  },
  {
    name: 'more than asked',
    reply: images(red, blue),
    exit: 0,
    says: /2 images came, 1 were asked for/,
    files: { 'x.png': red, 'x-2.png': blue },
  },
  {
    name: 'one of three broken',
    words: three,
    reply: images(red, { b64_json: '*' }, blue),
    exit: 12,
    says: /image 2 failed: .*base64/,
    files: { 'x-1.png': red, 'x-3.png': blue },
  },
  {
    name: 'one of three a page',
    words: three,
    reply: images(Buffer.from(html), red, blue),
    exit: 12,
    says: /image 1 failed: .*HTML/,
    files: { 'x-2.png': red, 'x-3.png': blue },
  },
  {
    name: 'one of three missing',
    words: three,
    reply: images(red, blue, {}),
    exit: 12,
    says: /image 3 failed/,
    files: { 'x-1.png': red, 'x-2.png': blue },
  },
  {
    name: 'one of three damaged, strictly',
    words: [...three, '--strict'],
    reply: images(red, half, blue),
    exit: 12,
    says: /image 2 failed: x-2\.png has a damaged image/,
    files: { 'x-1.png': red, 'x-2.png': half, 'x-3.png': blue },
  },
  {
    name: 'all of three broken',
    words: three,
    reply: images({}, {}, { b64_json: '*' }),
    exit: 8,
    code: 'no_image',
  },
  {
    name: 'cut after the first of three',
    words: three,
    reply: closeDelimited([JSON.stringify(resultOf(red, large, blue)).slice(0, 5000)]),
    exit: 7,
    files: { 'x-1.png': red },
  },

  {
    name: 'a stream',
    words: streamed,
    reply: stream([partial(blue), completed(red)]),
    exit: 0,
    files: { 'x.png': red },
  },
  {
    name: 'a stream with [DONE]',
    words: streamed,
    reply: stream([completed(red), 'data: [DONE]\n\n']),
    exit: 0,
    files: { 'x.png': red },
  },
  { name: 'a JSON reply to a stream', words: streamed, reply: images(red), exit: 0, files: { 'x.png': red } },
  {
    name: 'a stream that was not asked for',
    reply: stream([completed(red)]),
    exit: 0,
    files: { 'x.png': red },
  },
  {
    name: 'a stream with an error',
    words: streamed,
    reply: stream([partial(blue), failed]),
    exit: 9,
    says: /It broke\./,
  },
  {
    name: 'a stream that begins with an error',
    words: streamed,
    reply: stream([failed]),
    exit: 9,
    says: /It broke\./,
  },
  {
    name: 'a stream that ends after a partial image',
    words: streamed,
    reply: stream([partial(blue)]),
    exit: 7,
    code: 'stream_truncated',
  },
  {
    name: 'a stream that is cut in its image',
    words: streamed,
    reply: stream([completed(red).slice(0, 90)], { ending: 'reset' }),
    exit: 7,
  },
  {
    name: 'a stream that breaks after its image',
    words: streamed,
    reply: stream([completed(red)], { ending: 'reset' }),
    exit: 0,
    files: { 'x.png': red },
  },
  {
    name: 'a stream that fails after its image',
    words: streamed,
    reply: stream([completed(red), failed]),
    exit: 0,
    files: { 'x.png': red },
  },
  {
    name: 'a stream of nothing',
    words: streamed,
    reply: stream([': ping\n\n']),
    exit: 7,
    code: 'stream_truncated',
  },
  {
    name: 'a stream of three that fails after one',
    words: [...streamed, ...three],
    reply: stream([completed(red), failed]),
    exit: 12,
    says: /image 2 failed: .*It broke/,
    files: { 'x-1.png': red },
  },
  {
    name: 'a stream of three that is cut after one',
    words: [...streamed, ...three],
    reply: stream([completed(red)], { ending: 'cut' }),
    exit: 7,
    files: { 'x-1.png': red },
  },
  {
    name: 'a partial image that is broken',
    words: [...streamed, '--save-partials'],
    reply: stream([partial(Buffer.from(html)), completed(red)]),
    exit: 0,
    files: { 'x.png': red },
  },
]

const wordsOf = ({ words = [] }: Case) => [
  'create',
  '-m',
  'some-model',
  ...words,
  '-o',
  words.includes('-n') ? 'x-{index}.{ext}' : 'x.{ext}',
  'A kite',
]

describe.each(cases.map((one) => [`${one.exit} ${one.name}`, one] as const))('%s', (_, one) => {
  test('in words', async () => {
    const server = await localServer([one.reply])
    const studio = studioAt(server)
    const { code, out, err } = await studio.run(wordsOf(one))
    const names = Object.keys(one.files ?? {})
    expect([code, studio.files()]).toEqual([one.exit, names.toSorted()])
    for (const name of names) expect(studio.read(name).equals(one.files![name]!)).toBe(true)
    expect(out).toBe(names.map((name) => `${name}\n`).join(''))
    expect(err).toMatch(one.says ?? (one.exit === 0 ? /^image 1: |^$/m : /^modelgate: /m))
    const problems = err.split('\n').filter((line) => line.startsWith('modelgate: '))
    expect(problems.length, 'messages').toBe(one.exit === 0 ? 0 : 1)
    expect(server.requests.length, 'creations').toBe(1)
  })

  test('as JSON', async () => {
    const server = await localServer([one.reply])
    const studio = studioAt(server)
    const { code, out, err } = await studio.run([...wordsOf(one), '--json'])
    expect(code).toBe(one.exit)
    const isDocument = one.exit === 0 || one.exit === 12
    const lines = err.split('\n').filter((line) => line.startsWith('{'))
    expect([out === '', lines.length]).toEqual(isDocument ? [false, 0] : [true, 1])
    const document = JSON.parse(isDocument ? out : lines[0]!) as Json
    expect(await problemsBySchema(isDocument ? 'images' : 'error', document)).toEqual([])
    const files = (isDocument ? document : (document.partial ?? { files: [] })).files as Json[]
    expect(files.map(({ path }) => path)).toEqual(Object.keys(one.files ?? {}))
    expect(document).toMatchObject(
      isDocument
        ? {}
        : { error: { exit_code: one.exit, ...(one.code === undefined ? {} : { code: one.code }) } },
    )
  })

  test('as JSON lines', async () => {
    const server = await localServer([one.reply])
    const studio = studioAt(server)
    const { code, out } = await studio.run([...wordsOf(one), '--jsonl'])
    expect(code).toBe(one.exit)
    const events = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Json)
    for (const event of events) expect(await problemsBySchema('events', event)).toEqual([])
    const types = events.map(({ type }) => type as string)
    expect(types[0]).toBe('start')
    expect(types.filter((type) => type === 'end' || type === 'error')).toEqual([
      one.exit === 0 || one.exit === 12 ? 'end' : 'error',
    ])
    const saved = events.filter(({ type }) => type === 'image-save').map(({ file }) => file.path)
    expect(saved).toEqual(Object.keys(one.files ?? {}))
  })
})

test('a reply of which a part is broken keeps what it said of the others', async () => {
  const reply = resultOf({ b64_json: base64(red), revised_prompt: 'A red kite' }, {})
  const server = await localServer([json(reply, { headers: { 'x-request-id': 'req-7' } })])
  const studio = studioAt(server)
  const { code, out } = await studio.run(['create', '-m', 'm', '-n', '2', '-o', 'x.png', '--json', 'A kite'])
  expect(code).toBe(12)
  expect(JSON.parse(out)).toMatchObject({
    files: [{ path: 'x-1.png', revised_prompt: 'A red kite' }],
    failures: [{ index: 2, code: 'no_image' }],
    usage: { total_tokens: 3 },
    request_id: 'req-7',
    response: { data: [{ b64_json: null }, {}] },
  })
})

test('an image more than asked for is not mixed into standard output', async () => {
  const server = await localServer([images(red, blue)])
  const { code, bytes, err } = await studioAt(server).run(['create', '-m', 'm', '-o', '-', 'A kite'])
  expect([code, bytes.equals(red)]).toEqual([0, true])
  expect(err).toContain('Image 2 was not asked for, and is not written: -o - takes one.')
})

test('what is no image does not get to standard output', async () => {
  const server = await localServer([images(Buffer.from(html))])
  const { code, out } = await studioAt(server).run(['create', '-m', 'm', '-o', '-', 'A kite'])
  expect([code, out]).toEqual([8, ''])
})

test('a failed image of several is told with --quiet, too', async () => {
  const server = await localServer([images(red, {})])
  const words = ['create', '-m', 'm', '-n', '2', '-o', 'x.png', '-q', 'A kite']
  const { code, out, err } = await studioAt(server).run(words)
  expect([code, out]).toEqual([12, 'x-1.png\n'])
  expect(err).toMatch(/^modelgate: Image 2 failed: The reply names an image [^\n]*\n/)
})
