import { expect, test } from 'vitest'
import type { Json } from '../../support/running-sandbox.ts'
import { closeDelimited, json, type ServerReply } from '../../support/server-replies.ts'
import { given, runGiven } from './image-run.ts'
import {
  base64,
  blue,
  completed,
  failed,
  file,
  images,
  large,
  partial,
  red,
  resultOf,
  stream,
  webp,
} from './replies.ts'

const half = red.subarray(0, red.length - 8)
const two = ['-n', '2']
const three = ['-n', '3']
const streamed = ['--stream']
const create = ['create', '-m', 'm', '-o', 'x.png', 'A kite']

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

// How a single image may be written or fail is shown in test/gateway/images and among the rows of test/faults.
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
    name: 'an item that is an error',
    reply: images({ error: { message: 'Blocked.', code: 'moderation' } }),
    exit: 9,
    says: /Blocked\./,
  },
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
    name: 'cut after the first of three',
    words: three,
    reply: closeDelimited([cutText]),
    exit: 7,
    files: { 'x-1.png': red },
    damaged: { 'x-2.damaged.png': decodable },
  },
  {
    name: 'a stream of three that is cut after one',
    words: [...streamed, ...three],
    reply: stream([completed(red)], { ending: 'cut' }),
    exit: 7,
    files: { 'x-1.png': red },
  },
]

test.each(oddReplies)('$exit $name', async ({ words = [], files: results = {}, ...one }) => {
  const name = words.includes('-n') ? 'x-{index}.{ext}' : 'x.{ext}'
  const argv = ['create', '-m', 'some-model', ...words, '-o', name, 'A kite']
  const { code, out, err, files, read, server } = await runGiven(argv, one.reply)
  const kept = { ...results, ...one.damaged }
  expect([code, files()]).toEqual([one.exit, Object.keys(kept).toSorted()])
  for (const [path, bytes] of Object.entries(kept)) expect(read(path).equals(bytes)).toBe(true)
  const names = Object.keys(results)
  expect(out).toBe(names.map((path) => `${path}\n`).join(''))
  expect(err).toMatch(one.says ?? (one.exit === 0 ? /^image 1: |^$/m : /^modelgate: /m))
  const problems = err.split('\n').filter((line) => line.startsWith('modelgate: '))
  expect([problems.length, server.requests.length]).toEqual([one.exit === 0 ? 0 : 1, 1])

  const asJson = await runGiven([...argv, '--json'], one.reply)
  const isDocument = one.exit === 0 || one.exit === 12
  const lines = asJson.err.split('\n').filter((line) => line.startsWith('{'))
  expect([asJson.code, asJson.out !== '', lines.length]).toEqual([one.exit, isDocument, isDocument ? 0 : 1])
  const { error, partial: part = { files: [] }, ...document } = JSON.parse(lines[0] ?? asJson.out) as Json
  expect((isDocument ? document : part).files.map(({ path }: Json) => path)).toEqual(names)
  const failure = { exit_code: one.exit, ...(one.code && { code: one.code }) }
  expect(isDocument ? {} : error).toMatchObject(isDocument ? {} : failure)
})

test('a reply of which a part is broken keeps what it said of the others', async () => {
  const reply = resultOf({ b64_json: base64(red), revised_prompt: 'A red kite' }, {})
  const { run } = await given(json(reply, { headers: { 'x-request-id': 'req-7' } }))
  const { code, out } = await run([...create, ...two, '--json'])
  expect([code, JSON.parse(out)]).toMatchObject([
    12,
    {
      files: [{ path: 'x-1.png', revised_prompt: 'A red kite' }],
      failures: [{ index: 2, code: 'reply_not_understood' }],
      usage: { total_tokens: 3 },
      request_id: 'req-7',
      response: { data: [{ b64_json: null }, {}] },
    },
  ])
})

test('an image more than asked for is not mixed into standard output', async () => {
  const { code, bytes, err } = await runGiven(['create', '-m', 'm', '-o', '-', 'A kite'], images(red, blue))
  expect([code, bytes.equals(red)]).toEqual([0, true])
  expect(err).toContain('Image 2 was not requested and is not written: -o - takes one image.')
})

test.each([
  ['a page', 8, [], '<html><title>502 Bad Gateway</title></html>'],
  ['words', 8, [], '"Sorry!"'],
  ['an error', 9, [], '{"error":{"message":"It broke."}}'],
  ['an error event', 9, [], failed],
  ['no image', 9, [], '{"created":1,"data":[]}'],
  ['a broken image', 8, [], '{"created":1,"data":[{"b64_json":"*"}]}'],
  ['two of three images', 12, three, JSON.stringify(resultOf(red, blue))],
  ['two of three events', 12, [...streamed, ...three], completed(red) + completed(blue)],
  ['an image and an error event', 12, [...streamed, ...three], completed(red) + failed],
  ['an image and a broken one', 12, two, JSON.stringify(resultOf(red, { b64_json: '*' }))],
  ['addresses', 0, [...two, '--no-download'], '{"created":1,"data":[{"url":"/a"},{"url":"/b"}]}'],
  ['an event stream without its end', 0, streamed, completed(red)],
  ['an error after the image', 0, streamed, completed(red) + failed],
  ['an event stream without its image', 7, streamed, partial(red)],
  ['nothing', 8, [], ''],
] as const)('--raw passes on %s, and ends as it does without: %i', async (_, exit, words, body) => {
  const call = ['create', '-m', 'm', ...words, 'A kite']
  const { code, out, err } = await runGiven([...call, '--raw'], closeDelimited([body]))
  expect([code, out.trimEnd()]).toEqual([exit, body.trimEnd()])
  expect(err.split('\n').filter((line) => line.startsWith('modelgate: ')).length).toBe(exit === 0 ? 0 : 1)
  expect(err).not.toContain('--raw')
  expect(/^image \d failed: /m.test(err)).toBe(exit === 12)
  expect((await runGiven(call, closeDelimited([body]))).code).toBe(exit)
})

test('what the gateway says of the charge for one of several is not contradicted', async () => {
  const free = { error: { message: 'Blocked. You have not been charged for it.' } }
  for (const more of [[], ['-q']]) {
    const { code, err } = await runGiven([...create, ...two, ...more], images(red, free))
    expect([code, err]).toEqual([12, expect.stringContaining('You have not been charged')])
    expect(err).not.toContain('billed')
  }
})

test('fewer than asked for are named in the document and on standard error', async () => {
  const { code, out, err } = await runGiven([...create, ...two, '--json'], images(red))
  const failure = { index: 2, code: 'nothing_generated', message: 'The gateway sent only 1 of 2 images.' }
  expect([code, err]).toEqual([12, `image 2 failed: ${failure.message}\n`])
  expect(JSON.parse(out)).toMatchObject({ files: [{ path: 'x-1.png' }], failures: [failure] })
  expect((await runGiven([...create, ...two, '-q'], images(red))).err).toBe(
    `modelgate: Image 2 failed: ${failure.message}\n  The request was billed.\n`,
  )
})

test.each([
  ['of another type than its name', red],
  ['that cannot be verified', Buffer.from('ff0a'.padEnd(1200, 'b7'), 'hex')],
])('--strict makes a failure of an image %s', async (_, bytes) => {
  const words = ['create', '-m', 'm', '-o', 'x.webp', 'A kite']
  const saved = { out: 'x.webp\n' }
  expect(await runGiven(words, images(bytes))).toMatchObject({ code: 0, ...saved })
  const strict = await runGiven([...words, '--strict'], images(bytes))
  expect(strict).toMatchObject({ code: 9, ...saved })
  expect(strict.err).toMatch(/^modelgate: An image could not be verified as what was asked for\.$/m)
  const asJson = await runGiven([...words, '--strict', '--json'], images(bytes))
  expect([asJson.code, asJson.out]).toEqual([9, ''])
  expect(JSON.parse(asJson.err.split('\n').at(-2)!)).toMatchObject({
    error: { code: 'damaged_media', billed: 'yes' },
    partial: { files: [{ path: 'x.webp' }] },
  })
})

const many = Array.from({ length: 300 }, () => red)
const ten = ['x.png', ...[2, 3, 4, 5, 6, 7, 8, 9, 10].map((at) => `x-${at}.png`)]

test.each([
  ['a document', [images(...many)]],
  ['a stream', [stream([many.map((bytes) => completed(bytes)).join('')])]],
  ['addresses', [images(...many.map((_, at) => ({ url: `/${at}` }))), ...ten.map(() => file(red))]],
])('one image asked and 300 answered in %s: ten are kept, and the others told', async (_, replies) => {
  const { code, out, err, files } = await runGiven(create, ...replies)
  expect([code, out, files()]).toEqual([0, `${ten.join('\n')}\n`, ten.toSorted()])
  const warnings = err.split('\n').filter((line) => line.startsWith('warning:'))
  expect(warnings).toEqual(['warning: 300 images received, 1 requested; the first 10 are kept.'])
})

test('of previews no more are kept than one request can ask for', async () => {
  const words = [...create, '--stream', '--partial-images', '1', '--save-partials']
  const { code, files } = await runGiven(words, stream([partial(red).repeat(300) + completed(red)]))
  // Three for each of the ten images of the greatest request, and the image itself.
  expect([code, files().length]).toEqual([0, 31])
})

/** As the specification has it. */
const usage = (total: number) => ({
  input_tokens: 50,
  input_tokens_details: { image_tokens: 40, text_tokens: 10 },
  output_tokens: total - 50,
  total_tokens: total,
})
const last = completed(red, { usage: usage(100) })
const several = [...two, '--stream']

test.each([
  ['a document', [], json({ ...resultOf(red), usage: usage(100) }), 0],
  ['several events, the last of all', several, stream([completed(red, { usage: usage(75) }), last]), 0],
  ['several events, only the first', several, stream([last, completed(red)]), 0],
  ['a stream that fails later', several, stream([last, failed]), 12],
  ['a stream that is cut later', several, stream([last], { ending: 'reset' }), 7],
] as const)('usage is told of %s', async (_, more, reply, exit) => {
  const { code, out, err } = await runGiven([...create, ...more, '--json'], reply)
  expect(code).toBe(exit)
  const { usage: shown } = exit === 7 ? (JSON.parse(/^\{.*/m.exec(err)![0]) as Json).partial : JSON.parse(out)
  expect(shown).toEqual({
    input_tokens: 50,
    cached_tokens: null,
    output_tokens: 50,
    reasoning_tokens: null,
    total_tokens: 100,
    input_image_tokens: 40,
    input_text_tokens: 10,
  })
  for (const words of [create, ['create', '-m', 'm', '--raw', 'A kite']]) {
    const told = await runGiven([...words, ...more, '--usage'], reply)
    expect(told.code).toBe(exit)
    expect(told.err).toContain('tokens: 50 in (40 image, 10 text), 50 out, 100 total\n')
  }
})
