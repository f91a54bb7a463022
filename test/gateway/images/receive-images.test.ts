import { expect, test } from 'vitest'
import { FileError, ModelgateError, ContractError } from '../../../src/errors.ts'
import type { ImageReceiver } from '../../../src/gateway/images/image-reply.ts'
import { receiveImages } from '../../../src/gateway/images/receive-images.ts'
import type { Gateway } from '../../../src/gateway/gateway.ts'
import { localServer } from '../../support/local-server.ts'
import {
  closeDelimited,
  flood,
  head,
  inPieces,
  json,
  readAll,
  sse,
  write,
  chunk,
  type ServerReply,
} from '../../support/server-replies.ts'
import { advanceUntilSettled, testGateway, textRequest, until } from '../test-gateway.ts'
import { createImageResults } from './album.ts'

const imageRequest = (gateway: Pick<Gateway, 'baseUrl'>) =>
  textRequest(gateway, { kind: 'create', url: new URL('/v1/images/generations', gateway.baseUrl) })

const receive = (gateway: Gateway, receiver: ImageReceiver) =>
  receiveImages(gateway, imageRequest(gateway), receiver).catch((error: unknown) => {
    if (error instanceof ModelgateError) return error
    throw error
  })

const base64 = Buffer.from('a picture').toString('base64')
const result = { created: 1, data: [{ b64_json: base64 }] }
const completed = `data: ${JSON.stringify({ type: 'image_generation.completed', b64_json: base64 })}\n\n`
const partial = `data: ${JSON.stringify({ type: 'image_generation.partial_image', b64_json: base64 })}\n\n`

/** What a reply leads to: images that came, or exit code and error code. */
async function outcomeOf(reply: ServerReply, count?: number): Promise<string> {
  const server = await localServer([reply])
  const gateway = testGateway(server.url)
  const album = createImageResults(count === undefined ? {} : { count })
  const outcome = receive(gateway, album)
  await until(() => server.requests[0]?.complete === true)
  // Waits of a second or more pass at once.
  await advanceUntilSettled(gateway.clock, 500, outcome, () => server.isEndless)
  const ended = await outcome
  expect(gateway.clock.pendingTimers).toBe(0)
  expect(album.pictures.every(({ state }) => state !== 'open')).toBe(true)
  await until(() => server.openSockets === 0)
  const done = album.pictures.filter(
    ({ state, partial: number }) => state === 'done' && number === null,
  ).length
  return ended instanceof ModelgateError ? `${done}: ${ended.exitCode} ${ended.code}` : `${done}: ok`
}

test('tells of broken images beside whole ones, to whoever wants to know', async () => {
  const server = await localServer([
    json({ ...result, data: [{ b64_json: '*' }, { b64_json: base64 }, {}], usage: { total_tokens: 5 } }),
    json({ data: [{}, { b64_json: '*' }] }),
  ])
  const failed: string[] = []
  const album = createImageResults({ count: 3 })
  const receiver: ImageReceiver = {
    ...album,
    failed: ({ index, error }) => void failed.push(`${index}: ${error.code}`),
  }
  await receive(testGateway(server.url), receiver)
  expect([album.images, album.reported]).toMatchObject([[{ index: 1 }], { usage: { total_tokens: 5 } }])
  expect(failed).toEqual(['0: damaged_media', '2: reply_not_understood'])
  // Where no image came at all, the first failure is the reply's.
  expect(await receive(testGateway(server.url), receiver)).toMatchObject({ code: 'reply_not_understood' })
  expect(failed.length).toBe(2)
})

test('hands images, addresses and everything else over', async () => {
  const sent = {
    ...result,
    data: [{ b64_json: base64, revised_prompt: 'better' }, { url: '/b.png' }],
    usage: { total_tokens: 7 },
    size: '1024x1024',
  }
  const server = await localServer([json(sent, { headers: { 'x-request-id': 'r1' } })])
  const album = createImageResults({ count: 2 })
  const ids: (string | null)[] = []
  let flushed = 0
  const receiver = {
    ...album,
    replied: (id: string | null) => void ids.push(id),
    flush: async () => void flushed++,
  }
  expect(await receive(testGateway(server.url), receiver)).toEqual({
    ...sent,
    data: [{ b64_json: null, revised_prompt: 'better' }, { url: '/b.png' }],
  })
  expect(album.images).toEqual([
    { index: 0, revised_prompt: 'better' },
    { index: 1, revised_prompt: null },
  ])
  expect(album.reported.usage).toEqual({ total_tokens: 7 })
  expect(album.pictures).toEqual([
    { index: 0, partial: null, state: 'done', bytes: Buffer.from('a picture') },
  ])
  expect(album.urls).toEqual([{ index: 1, url: '/b.png' }])
  expect(ids).toEqual(['r1'])
  expect(flushed).toBeGreaterThan(0)
})

test('a stream with a late partial image', async () => {
  const server = await localServer([sse([partial, completed, partial])])
  const album = createImageResults({ count: 1 })
  expect(await receive(testGateway(server.url), album)).toEqual({
    type: 'image_generation.completed',
    b64_json: null,
  })
  expect(album.pictures.map(({ index, partial: number }) => [index, number])).toEqual([
    [0, 0],
    [0, null],
    [0, 1],
  ])
})

// What else can be wrong with a reply is in test/program/images/odd-replies, and in test/faults.
test.for<[string, ServerReply, string]>([
  [
    'a reply in single bytes',
    [readAll, write(head(200)), ...inPieces(JSON.stringify(result), 1).map(write), { step: 'end' }],
    '1: ok',
  ],
  ['a stream with DONE that stays open', sse([completed, 'data: [DONE]\n\n'], { ending: 'stall' }), '1: ok'],
  ['DONE without an image', sse([partial, 'data: [DONE]\n\n']), '0: 9 nothing_generated'],
  [
    'an error event',
    sse([partial, 'event: error\ndata: {"message":"m","code":"upstream"}\n\n']),
    '0: 9 upstream',
  ],
  ['JSON that ends early', closeDelimited([JSON.stringify(result).slice(0, -1)]), '1: 7 connection_lost'],
  ['a stream of comments', sse([': ping\n\n', ': ping\n\n']), '0: 7 connection_lost'],
  ['silence in the image', sse([completed.slice(0, 60)], { ending: 'stall' }), '0: 7 timeout'],
  ['a whole object, and then silence', sse([JSON.stringify(result)], { ending: 'stall' }), '1: ok'],
])('%s', async ([, reply, expected]) => {
  expect(await outcomeOf(reply)).toBe(expected)
})

test.for<[string, ServerReply, string]>([
  [
    'a connection that breaks afterwards',
    sse([completed, partial.slice(0, 50)], { ending: 'reset' }),
    '1: ok',
  ],
  ['an open end', sse([completed], { ending: 'stall' }), '1: ok'],
  [
    'an open end, with comments',
    [
      readAll,
      write(head(200, { 'transfer-encoding': 'chunked' })),
      write(chunk(completed)),
      flood(chunk(': ping\n\n')),
    ],
    '1: ok',
  ],
  ['an error afterwards', sse([completed, 'data: {"error":{"message":"m"}}\n\n']), '1: ok'],
  ['nonsense afterwards', sse([completed, 'data: oops\n\n']), '1: ok'],
])('once as many images as asked for have come: %s', async ([, reply, expected]) => {
  expect(await outcomeOf(reply, 1)).toBe(expected)
})

test('an open end after fewer images than asked for is a silence', async () => {
  expect(await outcomeOf(sse([completed], { ending: 'stall' }), 2)).toBe('1: 7 timeout')
})

test('a writer that is slow is not the silence of the gateway', async () => {
  const slow = Promise.withResolvers<void>()
  const server = await localServer([json(result)])
  const gateway = testGateway(server.url)
  const album = createImageResults()
  const outcome = receive(gateway, {
    ...album,
    async open(start) {
      await slow.promise
      return album.open(start)
    },
  })
  await until(() => server.played === 1)
  for (let minute = 0; minute < 20; minute++) await gateway.clock.advance(60_000)
  slow.resolve()
  expect(await outcome).not.toBeInstanceOf(ModelgateError)
  expect(album.images).toMatchObject([{ index: 0 }])
})

test('a full disk ends one image; that all met it is the error', async () => {
  const server = await localServer([json({ data: [{ b64_json: base64 }, { b64_json: base64 }] })])
  const album = createImageResults({
    onWrite() {
      throw new FileError('no_space', 'full')
    },
  })
  expect(await receive(testGateway(server.url), album)).toMatchObject({ exitCode: 10, code: 'no_space' })
  expect(album.pictures).toMatchObject([{ state: 'dropped' }, { state: 'dropped' }])
})

test('an image that its writer refuses does not keep the others from coming', async () => {
  const server = await localServer([json({ data: [{ b64_json: base64 }, { b64_json: base64 }] })])
  const album = createImageResults({
    onDone({ index }) {
      if (index === 0) throw new ContractError('damaged_media', 'no')
    },
  })
  expect(await receive(testGateway(server.url), album)).toMatchObject({ exitCode: 8, code: 'damaged_media' })
  expect(album.pictures).toMatchObject([{ state: 'kept' }, { state: 'done' }])
})

test('the network waits for the writer', async () => {
  const gate = Promise.withResolvers<void>()
  const reply = Buffer.from(`{"data":[{"b64_json":"${'A'.repeat(48 * 1_048_576)}"}]}`)
  const server = await localServer([
    [readAll, write(head(200)), ...inPieces(reply.toString(), 1_048_576).map(write), { step: 'end' }],
  ])
  const album = createImageResults()
  let held = true
  const outcome = receive(testGateway(server.url), {
    ...album,
    async open(start) {
      const writer = await album.open(start)
      return {
        ...writer,
        async write(bytes) {
          if (held) await gate.promise
          await writer.write(bytes)
        },
      }
    },
  })
  let last = -1
  // Until the system's buffers are full, and nothing moves any more.
  for (let same = 0; same < 50; last = server.taken) {
    await new Promise((resolve) => setImmediate(resolve))
    same = server.taken > 0 && server.taken === last ? same + 1 : 0
  }
  expect(server.taken).toBeLessThan(32 * 1_048_576)
  held = false
  gate.resolve()
  expect(await outcome).not.toBeInstanceOf(ModelgateError)
  expect(album.images).toMatchObject([{ index: 0 }])
  expect(album.pictures[0]!.bytes.length).toBe(36 * 1_048_576)
})
