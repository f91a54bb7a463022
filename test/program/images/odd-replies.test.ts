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
  write,
  type ServerReply,
} from '../../support/server-replies.ts'
import { workspaceAt, given, runGiven } from './image-run.ts'
import { html, streamed, three, type OddReply } from './odd-replies/odd-reply.ts'
import { severalReplies } from './odd-replies/several.ts'
import { singleReplies } from './odd-replies/single.ts'
import { streamReplies } from './odd-replies/streams.ts'
import { base64, blue, completed, failed, images, partial, red, resultOf } from './replies.ts'
import { sample } from '../../support/sample.ts'

const cases = [...singleReplies, ...severalReplies, ...streamReplies].map(
  (one) => [`${one.exit} ${one.name}`, one] as const,
)
/** Where the same is told in another form. */
const some = sample(cases, { quick: 0.2, ci: Infinity }, ([name]) => name)

const wordsOf = ({ words = [] }: OddReply) => [
  'create',
  '-m',
  'some-model',
  ...words,
  '-o',
  words.includes('-n') ? 'x-{index}.{ext}' : 'x.{ext}',
  'A kite',
]

describe.each(cases)('%s', (_, one) => {
  test('in words', async () => {
    const { code, out, err, files, read, server } = await runGiven(wordsOf(one), one.reply)
    const names = Object.keys(one.files ?? {})
    const kept = { ...one.files, ...one.damaged }
    expect([code, files()]).toEqual([one.exit, Object.keys(kept).toSorted()])
    for (const [name, bytes] of Object.entries(kept)) expect(read(name).equals(bytes)).toBe(true)
    expect(out).toBe(names.map((name) => `${name}\n`).join(''))
    expect(err).toMatch(one.says ?? (one.exit === 0 ? /^image 1: |^$/m : /^modelgate: /m))
    const problems = err.split('\n').filter((line) => line.startsWith('modelgate: '))
    expect(problems.length, 'messages').toBe(one.exit === 0 ? 0 : 1)
    expect(server.requests.length, 'creations').toBe(1)
  })
})

describe.each(some)('%s', (_, one) => {
  test('as JSON', async () => {
    const { code, out, err } = await runGiven([...wordsOf(one), '--json'], one.reply)
    expect(code).toBe(one.exit)
    const isDocument = one.exit === 0 || one.exit === 12
    const lines = err.split('\n').filter((line) => line.startsWith('{'))
    expect([out === '', lines.length]).toEqual(isDocument ? [false, 0] : [true, 1])
    const document = JSON.parse(isDocument ? out : lines[0]!) as Json
    expect(await problemsBySchema(isDocument ? 'output' : 'error', document)).toEqual([])
    const files = (isDocument ? document : (document.partial ?? { files: [] })).files as Json[]
    expect(files.map(({ path }) => path)).toEqual(Object.keys(one.files ?? {}))
    expect(document).toMatchObject(
      isDocument
        ? {}
        : { error: { exit_code: one.exit, ...(one.code === undefined ? {} : { code: one.code }) } },
    )
  })

  test('as JSON lines', async () => {
    const { code, out } = await runGiven([...wordsOf(one), '--jsonl'], one.reply)
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
  const { run } = await given(json(reply, { headers: { 'x-request-id': 'req-7' } }))
  const { code, out } = await run(['create', '-m', 'm', '-n', '2', '-o', 'x.png', '--json', 'A kite'])
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
  const { code, bytes, err } = await runGiven(['create', '-m', 'm', '-o', '-', 'A kite'], images(red, blue))
  expect([code, bytes.equals(red)]).toEqual([0, true])
  expect(err).toContain('Image 2 was not requested and is not written: -o - takes one image.')
})

test('what is no image does not get to standard output', async () => {
  const { code, out } = await runGiven(['create', '-m', 'm', '-o', '-', 'A kite'], images(Buffer.from(html)))
  expect([code, out]).toEqual([8, ''])
})

test('a failed image of several is told with --quiet, too', async () => {
  const { run } = await given(images(red, {}))
  const words = ['create', '-m', 'm', '-n', '2', '-o', 'x.png', '-q', 'A kite']
  const { code, out, err } = await run(words)
  expect([code, out]).toEqual([12, 'x-1.png\n'])
  expect(err).toMatch(/^modelgate: Image 2 failed: The reply contains an image [^\n]*\n/)
})

test('--raw passes on what came of a reply that breaks off, and the exit code tells', async () => {
  const text = JSON.stringify(resultOf(red))
  const server = await localServer([closeDelimited([text]), cutShort(text)])
  const words = ['create', '-m', 'm', '--raw', 'A kite']
  expect(await workspaceAt(server).run(words)).toMatchObject({ code: 0, out: `${text}\n` })
  const { code, out, err } = await workspaceAt(server).run(words)
  expect([code, out.slice(0, 60)]).toEqual([7, text.slice(0, 60)])
  expect(err).toMatch(/^modelgate: .*closed the connection/)
  expect(err).not.toContain('bug')
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

test('addresses that are not fetched are counted, too', async () => {
  const { server, run } = await given(images({ url: '/a' }, { url: '/b' }))
  const words = ['create', '-m', 'm', '-n', '3', '--no-download', 'A kite']
  const { code, out, err } = await run(words)
  expect([code, out]).toEqual([12, `${server.url}/a\n${server.url}/b\n`])
  expect(err).toContain('image 3 failed: The gateway sent only 2 of 3 images.')
})

test('fewer than asked for are named in the document and on standard error', async () => {
  const server = await localServer([images(red), images(red)])
  const words = ['create', '-m', 'm', '-n', '2', '-o', 'x.png', 'A kite']
  const { code, out, err } = await workspaceAt(server).run([...words, '--json'])
  const failure = { index: 2, code: 'image_missing', message: 'The gateway sent only 1 of 2 images.' }
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
    error: { code: 'doubtful_image', billed: 'yes' },
    partial: { files: [{ path: 'x.webp' }] },
  })
})

/** Less than its head says. */
function cutShort(body: string): ServerReply {
  return [readAll, write(head(200, { 'content-length': '9000' }) + body.slice(0, 60)), end]
}
