import { expect, test } from 'vitest'
import { FileError, ContractError } from '../../../src/errors.ts'
import { receiveImages, type ImageReceiver } from '../../../src/gateway/images/image-reply.ts'
import type { Gateway } from '../../../src/gateway/gateway.ts'
import {
  closeDelimited,
  end,
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
import { advanceUntilSettled, served, textRequest, until, verdictOf } from '../test-gateway.ts'
import { createImageResults } from './album.ts'

const receive = (gateway: Gateway, receiver: ImageReceiver) =>
  receiveImages(gateway, textRequest(gateway, { kind: 'create' }), receiver)

const base64 = Buffer.from('a picture').toString('base64')
const result = { created: 1, data: [{ b64_json: base64 }] }
const twice = json({ data: [{ b64_json: base64 }, { b64_json: base64 }] })
const completed = `data: ${JSON.stringify({ type: 'image_generation.completed', b64_json: base64 })}\n\n`
const partial = `data: ${JSON.stringify({ type: 'image_generation.partial_image', b64_json: base64 })}\n\n`

test('tells of broken images beside whole ones, to whoever wants to know', async () => {
  const { gateway } = await served([
    json({ ...result, data: [{ b64_json: '*' }, { b64_json: base64 }, {}], usage: { total_tokens: 5 } }),
    json({ data: [{}, { b64_json: '*' }] }),
  ])
  const failed: string[] = []
  const album = createImageResults({ count: 3 })
  const receiver: ImageReceiver = {
    ...album,
    failed: ({ index, error }) => void failed.push(`${index}: ${error.code}`),
  }
  await receive(gateway, receiver)
  expect([album.images, album.reported]).toMatchObject([[{ index: 1 }], { usage: { total_tokens: 5 } }])
  expect(failed).toEqual(['0: damaged_media', '2: reply_not_understood'])
  // Where no image came at all, the first failure is the reply's.
  expect(await verdictOf(receive(gateway, receiver))).toBe('8 reply_not_understood')
  expect(failed.length).toBe(2)
})

test('hands images, addresses and everything else over', async () => {
  const sent = {
    ...result,
    data: [{ b64_json: base64, revised_prompt: 'better' }, { url: '/b.png' }],
    usage: { total_tokens: 7 },
    size: '1024x1024',
  }
  const { gateway } = await served([json(sent, { headers: { 'x-request-id': 'r1' } })])
  const album = createImageResults({ count: 2 })
  const ids: (string | null)[] = []
  let flushed = 0
  const receiver = {
    ...album,
    replied: (id: string | null) => void ids.push(id),
    flush: async () => void flushed++,
  }
  expect(await receive(gateway, receiver)).toEqual({
    ...sent,
    data: [{ b64_json: null, revised_prompt: 'better' }, { url: '/b.png' }],
  })
  expect(album).toMatchObject({
    images: [
      { index: 0, revised_prompt: 'better' },
      { index: 1, revised_prompt: null },
    ],
    reported: { usage: { total_tokens: 7 } },
    pictures: [{ index: 0, partial: null, state: 'done', bytes: Buffer.from('a picture') }],
    urls: [{ index: 1, url: '/b.png' }],
  })
  expect(ids).toEqual(['r1'])
  expect(flushed).toBeGreaterThan(0)
})

const chunked = write(head(200, { 'transfer-encoding': 'chunked' }))

// What else can be wrong with a reply is in test/program/images/odd-replies, and in test/faults.
test.for<[what: string, ServerReply, expected: string, count?: number]>([
  ['a stream with DONE that stays open', sse([completed, 'data: [DONE]\n\n'], { ending: 'stall' }), '1: ok'],
  ['DONE without an image', sse([partial, 'data: [DONE]\n\n']), '0: 9 nothing_generated'],
  ['JSON that ends early', closeDelimited([JSON.stringify(result).slice(0, -1)]), '1: 7 connection_lost'],
  ['a stream of comments', sse([': ping\n\n', ': ping\n\n']), '0: 7 connection_lost'],
  ['a whole object, and then silence', sse([JSON.stringify(result)], { ending: 'stall' }), '1: ok'],
  [
    'all images, and comments for ever',
    [readAll, chunked, write(chunk(completed)), flood(chunk(': ping\n\n'))],
    '1: ok',
    1,
  ],
  ['all images, and an error', sse([completed, 'data: {"error":{"message":"m"}}\n\n']), '1: ok', 1],
  ['all images, and nonsense', sse([completed, 'data: oops\n\n']), '1: ok', 1],
  ['one of two images, and silence', sse([completed], { ending: 'stall' }), '1: 7 timeout', 2],
])('%s', async ([, reply, expected, count]) => {
  const { server, gateway } = await served([reply])
  const album = createImageResults(count === undefined ? {} : { count })
  const verdict = verdictOf(receive(gateway, album))
  await until(() => server.requests[0]?.complete === true)
  // Waits of a second or more pass at once.
  await advanceUntilSettled(gateway.clock, 500, verdict, () => server.isEndless)
  expect(gateway.clock.pendingTimers).toBe(0)
  expect(album.pictures.every(({ state }) => state !== 'open')).toBe(true)
  await until(() => server.openSockets === 0)
  const done = album.pictures.filter(({ state, partial: number }) => state === 'done' && number === null)
  expect(`${done.length}: ${await verdict}`).toBe(expected)
})

test('a writer that is slow is not the silence of the gateway', async () => {
  const slow = Promise.withResolvers<void>()
  const { server, gateway } = await served([json(result)])
  const album = createImageResults()
  const verdict = verdictOf(
    receive(gateway, { ...album, open: (start) => slow.promise.then(() => album.open(start)) }),
  )
  await until(() => server.played === 1)
  for (let minute = 0; minute < 20; minute++) await gateway.clock.advance(60_000)
  slow.resolve()
  expect(await verdict).toBe('ok')
  expect(album.images).toMatchObject([{ index: 0 }])
})

test('a full disk ends one image; that all met it is the error', async () => {
  const album = createImageResults({
    onWrite() {
      throw new FileError('no_space', 'full')
    },
  })
  expect(await verdictOf(receive((await served([twice])).gateway, album))).toBe('10 no_space')
  expect(album.pictures).toMatchObject([{ state: 'dropped' }, { state: 'dropped' }])
})

test('an image that its writer refuses does not keep the others from coming', async () => {
  const album = createImageResults({
    onDone({ index }) {
      if (index === 0) throw new ContractError('damaged_media', 'no')
    },
  })
  expect(await verdictOf(receive((await served([twice])).gateway, album))).toBe('8 damaged_media')
  expect(album.pictures).toMatchObject([{ state: 'kept' }, { state: 'done' }])
})

test('the network waits for the writer', async () => {
  const gate = Promise.withResolvers<void>()
  const reply = `{"data":[{"b64_json":"${'A'.repeat(48 * 1_048_576)}"}]}`
  const { server, gateway } = await served([
    [readAll, write(head(200)), ...inPieces(reply, 1_048_576).map(write), end],
  ])
  const album = createImageResults()
  const outcome = receive(gateway, {
    ...album,
    async open(start) {
      const writer = await album.open(start)
      return { ...writer, write: (bytes) => gate.promise.then(() => writer.write(bytes)) }
    },
  })
  let last = -1
  // Until the system's buffers are full, and nothing moves any more.
  for (let same = 0; same < 50; last = server.taken) {
    await new Promise((resolve) => setImmediate(resolve))
    same = server.taken > 0 && server.taken === last ? same + 1 : 0
  }
  expect(server.taken).toBeLessThan(32 * 1_048_576)
  gate.resolve()
  await outcome
  expect(album.pictures[0]!.bytes.length).toBe(36 * 1_048_576)
})
