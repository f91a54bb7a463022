import { expect, test } from 'vitest'
import { localServer } from '../../support/local-server.ts'
import { problemsBySchema } from '../../support/output-validator.ts'
import type { Json } from '../../support/running-sandbox.ts'
import { closeDelimited, json, type ServerReply } from '../../support/server-replies.ts'
import { workspaceAt, given, runGiven } from './image-run.ts'
import {
  base64,
  blue,
  completed,
  failed,
  images,
  large,
  partial,
  red,
  resultOf,
  stream,
  webp,
} from './replies.ts'

const html = '<html><title>502 Bad Gateway</title></html>'
const half = red.subarray(0, red.length - 8)
const three = ['-n', '3']
const streamed = ['--stream']

const cutText = JSON.stringify(resultOf(red, large, blue)).slice(0, 5000)
const digits = /"b64_json":"([^"]*)$/.exec(cutText)![1]!
/** What can be decoded of the second of the three images. */
const decodable = Buffer.from(digits.slice(0, digits.length - (digits.length % 4)), 'base64')

/** What one reply leads to. */
interface OddReply {
  readonly name: string
  readonly reply: ServerReply
  /** Flags beside `-o x.{ext}`, or `-o x-{index}.{ext}` where `-n` is given. */
  readonly words?: readonly string[]
  readonly exit: number
  /** The code of the error. */
  readonly code?: string
  /** What the one message says. */
  readonly says?: RegExp
  /** Names of the results, with what is in them. */
  readonly files?: Readonly<Record<string, Uint8Array>>
  /** The same for those that are kept although they are not whole, and are no result. */
  readonly damaged?: Readonly<Record<string, Uint8Array>>
}

// What a single image may be instead, and how base64 may be written, is among the rows of test/faults.
const oddReplies: readonly OddReply[] = [
  {
    name: 'base64 that ends early',
    reply: images({ b64_json: base64(red).slice(0, -3) }),
    exit: 8,
    says: /kept as "x\.damaged\.png"\.$/m,
    damaged: { 'x.damaged.png': red.subarray(0, Math.floor((base64(red).length - 3) / 4) * 3) },
  },
  {
    name: 'a damaged image',
    reply: images(half),
    exit: 8,
    code: 'damaged_media',
    says: /a damaged image: the PNG data ends too early\. It is kept as "x\.damaged\.png"\.$/m,
    damaged: { 'x.damaged.png': half },
  },
  {
    name: 'another type than declared',
    reply: json({ ...resultOf(webp), output_format: 'png' }),
    exit: 0,
    files: { 'x.webp': webp },
  },
  {
    name: 'a data URL in url',
    reply: images({ url: `data:image/png;base64,${base64(red)}` }),
    exit: 0,
    files: { 'x.png': red },
  },
  {
    name: 'an item that is an error',
    reply: images({ error: { message: 'Blocked.', code: 'moderation' } }),
    exit: 9,
    says: /Blocked\./,
  },
  ...[
    { code: 'odd', message: 'No.', data: null },
    { detail: [{ loc: ['body'], msg: 'No.' }] },
    { code: 500, msg: 'No.', data: null },
  ].map((body) => ({
    name: `${JSON.stringify(body)} with status 200`,
    reply: json(body),
    exit: 9,
    says: /No\./,
  })),
  {
    name: 'fewer than asked',
    words: three,
    reply: images(red, blue),
    exit: 12,
    says: /^image 3 failed: The gateway sent only 2 of 3 images\.\nmodelgate: 1 of 3 images failed\./m,
    files: { 'x-1.png': red, 'x-2.png': blue },
  },
  {
    name: 'more than asked',
    reply: images(red, blue),
    exit: 0,
    says: /2 images received, 1 requested/,
    files: { 'x.png': red, 'x-2.png': blue },
  },
  {
    name: 'one of three damaged',
    words: three,
    reply: images(red, half, blue),
    exit: 12,
    says: /image 2 failed: The gateway sent a damaged image: .* It is kept as "x-2\.damaged\.png"\./,
    files: { 'x-1.png': red, 'x-3.png': blue },
    damaged: { 'x-2.damaged.png': half },
  },
  {
    name: 'all of three broken',
    words: three,
    reply: images({}, {}, { b64_json: '*' }),
    exit: 8,
    code: 'reply_not_understood',
  },
  {
    name: 'cut after the first of three',
    words: three,
    reply: closeDelimited([cutText]),
    exit: 7,
    files: { 'x-1.png': red },
    damaged: { 'x-2.damaged.png': decodable },
  },
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
    name: 'a stream that fails after its image',
    words: streamed,
    reply: stream([completed(red), failed]),
    exit: 0,
    files: { 'x.png': red },
  },
  {
    name: 'a stream of three that ends after two',
    words: [...streamed, ...three],
    reply: stream([completed(red), partial(blue), completed(blue), partial(red)]),
    exit: 12,
    says: /^image 3 failed: The gateway sent only 2 of 3 images\.\nmodelgate: 1 of 3 images failed\./m,
    files: { 'x-1.png': red, 'x-2.png': blue },
  },
  {
    name: 'a stream of three that is cut after one',
    words: [...streamed, ...three],
    reply: stream([completed(red)], { ending: 'cut' }),
    exit: 7,
    files: { 'x-1.png': red },
  },
]

const cases = oddReplies.map((one) => {
  const { words = [] } = one
  const name = words.includes('-n') ? 'x-{index}.{ext}' : 'x.{ext}'
  return [
    `${one.exit} ${one.name}`,
    ['create', '-m', 'some-model', ...words, '-o', name, 'A kite'],
    one,
  ] as const
})

test.each(cases)('%s', async (_, words, one) => {
  const { code, out, err, files, read, server } = await runGiven(words, one.reply)
  const kept = { ...one.files, ...one.damaged }
  expect([code, files()]).toEqual([one.exit, Object.keys(kept).toSorted()])
  for (const [name, bytes] of Object.entries(kept)) expect(read(name).equals(bytes)).toBe(true)
  expect(out).toBe(
    Object.keys(one.files ?? {})
      .map((name) => `${name}\n`)
      .join(''),
  )
  expect(err).toMatch(one.says ?? (one.exit === 0 ? /^image 1: |^$/m : /^modelgate: /m))
  const problems = err.split('\n').filter((line) => line.startsWith('modelgate: '))
  expect(problems.length, 'messages').toBe(one.exit === 0 ? 0 : 1)
  expect(server.requests.length, 'creations').toBe(1)
})

test.each(cases)('%s, as JSON', async (_, words, one) => {
  const names = Object.keys(one.files ?? {})
  const isDocument = one.exit === 0 || one.exit === 12
  const { code, out, err } = await runGiven([...words, '--json'], one.reply)
  const lines = err.split('\n').filter((line) => line.startsWith('{'))
  expect([code, out === '', lines.length]).toEqual(isDocument ? [one.exit, false, 0] : [one.exit, true, 1])
  const document = JSON.parse(isDocument ? out : lines[0]!) as Json
  expect(await problemsBySchema(isDocument ? 'output' : 'error', document)).toEqual([])
  const files = (isDocument ? document : (document.partial ?? { files: [] })).files as Json[]
  expect(files.map(({ path }) => path)).toEqual(names)
  expect(isDocument ? {} : document.error).toMatchObject(
    isDocument ? {} : { exit_code: one.exit, ...(one.code !== undefined && { code: one.code }) },
  )
})

test('a reply of which a part is broken keeps what it said of the others', async () => {
  const reply = resultOf({ b64_json: base64(red), revised_prompt: 'A red kite' }, {})
  const { run } = await given(json(reply, { headers: { 'x-request-id': 'req-7' } }))
  const { code, out } = await run(['create', '-m', 'm', '-n', '2', '-o', 'x.png', '--json', 'A kite'])
  expect(code).toBe(12)
  expect(JSON.parse(out)).toMatchObject({
    files: [{ path: 'x-1.png', revised_prompt: 'A red kite' }],
    failures: [{ index: 2, code: 'reply_not_understood' }],
    usage: { total_tokens: 3 },
    request_id: 'req-7',
    response: { data: [{ b64_json: null }, {}] },
  })
})

test('an image more than asked for is not mixed into standard output', async () => {
  const { code, bytes, err } = await runGiven(['create', '-m', 'm', '-o', '-', 'A kite'], images(red, blue))
  expect([code, bytes.equals(red)]).toEqual([0, true])
  expect(err).toContain('Image 2 was not requested and is not written: -o - takes one image.')
})

test.each([
  ['a page', 8, [], html],
  ['words', 8, [], '"Sorry!"'],
  ['an error', 9, [], '{"error":{"message":"It broke."}}'],
  ['an error event', 9, [], failed],
  ['no image', 9, [], '{"created":1,"data":[]}'],
  ['a broken image', 8, [], '{"created":1,"data":[{"b64_json":"*"}]}'],
  ['two of three images', 12, three, JSON.stringify(resultOf(red, blue))],
  ['two of three events', 12, [...streamed, ...three], completed(red) + completed(blue)],
  ['an image and an error event', 12, [...streamed, ...three], completed(red) + failed],
  ['an image and a broken one', 12, ['-n', '2'], JSON.stringify(resultOf(red, { b64_json: '*' }))],
  ['addresses', 0, ['-n', '2', '--no-download'], '{"created":1,"data":[{"url":"/a"},{"url":"/b"}]}'],
  ['an event stream without its end', 0, streamed, completed(red)],
  ['an error after the image', 0, streamed, completed(red) + failed],
  ['an event stream without its image', 7, streamed, partial(red)],
  ['nothing', 8, [], ''],
] as const)('--raw passes on %s, and ends as it does without: %i', async (_, exit, words, body) => {
  const server = await localServer([closeDelimited([body]), closeDelimited([body])])
  const call = ['create', '-m', 'm', ...words, 'A kite']
  const { code, out, err } = await workspaceAt(server).run([...call, '--raw'])
  expect([code, out.trimEnd()]).toEqual([exit, body.trimEnd()])
  expect(err.split('\n').filter((line) => line.startsWith('modelgate: ')).length).toBe(exit === 0 ? 0 : 1)
  expect(err).not.toContain('--raw')
  expect(/^image \d failed: /m.test(err)).toBe(exit === 12)
  expect((await workspaceAt(server).run(call)).code).toBe(exit)
})

test('what the gateway says of the charge for one of several is not contradicted', async () => {
  const free = { error: { message: 'Blocked. You have not been charged for it.' } }
  const words = ['create', '-m', 'm', '-n', '2', '-o', 'x.png', 'A kite']
  for (const more of [[], ['-q']]) {
    const { code, err } = await runGiven([...words, ...more], images(red, free))
    expect([code, err.includes('You have not been charged'), err.includes('billed')]).toEqual([
      12,
      true,
      false,
    ])
  }
})

test('fewer than asked for are named in the document and on standard error', async () => {
  const server = await localServer([images(red), images(red)])
  const words = ['create', '-m', 'm', '-n', '2', '-o', 'x.png', 'A kite']
  const { code, out, err } = await workspaceAt(server).run([...words, '--json'])
  const failure = { index: 2, code: 'nothing_generated', message: 'The gateway sent only 1 of 2 images.' }
  expect([code, err]).toEqual([12, `image 2 failed: ${failure.message}\n`])
  expect(JSON.parse(out)).toMatchObject({ files: [{ path: 'x-1.png' }], failures: [failure] })
  expect((await workspaceAt(server).run([...words, '-q'])).err).toBe(
    `modelgate: Image 2 failed: ${failure.message}\n  The request was billed.\n`,
  )
})

test.each([
  ['of another type than its name', red],
  ['that cannot be verified', Buffer.from('ff0a'.padEnd(1200, 'b7'), 'hex')],
])('--strict makes a failure of an image %s', async (_, bytes) => {
  const server = await localServer([images(bytes), images(bytes), images(bytes)])
  const words = ['create', '-m', 'm', '-o', 'x.webp', 'A kite']
  const lenient = await workspaceAt(server).run(words)
  expect([lenient.code, lenient.out]).toEqual([0, 'x.webp\n'])
  const strict = await workspaceAt(server).run([...words, '--strict'])
  expect([strict.code, strict.out]).toEqual([9, 'x.webp\n'])
  expect(strict.err).toMatch(/^modelgate: An image could not be verified as what was asked for\.$/m)
  const asJson = await workspaceAt(server).run([...words, '--strict', '--json'])
  expect([asJson.code, asJson.out]).toEqual([9, ''])
  expect(JSON.parse(asJson.err.split('\n').at(-2)!)).toMatchObject({
    error: { code: 'damaged_media', billed: 'yes' },
    partial: { files: [{ path: 'x.webp' }] },
  })
})
