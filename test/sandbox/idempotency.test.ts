import { expect, test } from 'vitest'
import { createFirstAnswers } from '../../src/sandbox/http/idempotency.ts'
import { jsonReply, type Frame, type Reply } from '../../src/sandbox/http/reply.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { call, rawCall, respond, runningSandbox, until, type Json } from '../support/running-sandbox.ts'
import { edit, part } from '../support/image-calls.ts'
import { testImages } from '../support/test-images.ts'

const keyed = (key = 'key-1', more: Json = {}) => ({ headers: { 'idempotency-key': key, ...more } })
const contents = [{ parts: [{ text: 'hi' }] }]
const video = { instances: [{ prompt: 'a boat' }], parameters: {} }

test.for<[path: string, body: Json]>([
  ['/v1/responses', { input: 'hi' }],
  ['/v1/responses', { input: 'hi', stream: true }],
  ['/v1/responses', { input: 'hi', background: true }],
  ['/v1beta/models/m:generateContent', { contents }],
  ['/v1beta/models/m:streamGenerateContent?alt=sse', { contents }],
  ['/v1/images/generations', { prompt: 'a dot', model: 'image-model-b', size: '256x256' }],
  ['/v1/videos', { prompt: 'a boat' }],
  ['/v1/videos/video_sandbox_source/remix', { model: 'video-model-remix', prompt: 'night' }],
  ['/v1beta/models/m:predictLongRunning', video],
])('%s %o: a repeated key gets the first answer, and creates nothing', async ([path, body]) => {
  const sandbox = await runningSandbox()
  const first = await call(sandbox, path, body, keyed())
  const again = await call(sandbox, path, body, keyed())
  const other = await call(sandbox, path, body, keyed('key-2'))
  expect(first.status).toBe(200)
  expect([again.status, again.text]).toEqual([200, first.text])
  expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'))
  const marks = [first, again, other].map(({ headers }) => headers.get('idempotent-replayed'))
  expect(marks).toEqual([null, 'true', null])
  expect(other.text).not.toBe(first.text)
  const { json } = await call(sandbox, '/sandbox/stats')
  expect([json.creations.total, json.requests, json.repeats]).toEqual([2, 3, 1])
})

const { png } = await testImages(16)

test('a form is the same whatever its boundary, and another with another file', async () => {
  const sandbox = await runningSandbox()
  const ask = async (bytes: Uint8Array) => {
    const { headers } = keyed()
    const answer = await edit(sandbox, { prompt: 'a dot', size: '256x256' }, [part(bytes)], headers)
    return [answer.status, answer.headers.get('idempotent-replayed')]
  }
  expect(await ask(png)).toEqual([200, null])
  expect(await ask(png)).toEqual([200, 'true'])
  expect(await ask(Buffer.concat([png, new Uint8Array(1)]))).toEqual([400, null])
  expect(sandbox.created()).toBe(1)
})

test('a key that belongs to another request is refused in either envelope', async () => {
  const sandbox = await runningSandbox()
  await respond(sandbox, 'hi')
  await call(sandbox, '/v1/responses', { input: 'hi' }, keyed())
  const body = await call(sandbox, '/v1/responses', { input: 'bye' }, keyed())
  const error = { type: 'idempotency_error', param: null, code: 'idempotency_key_reused' }
  const message = 'This Idempotency-Key was used for another request.'
  expect([body.status, body.json.error]).toEqual([400, { message, ...error }])
  const path = await call(sandbox, '/v1beta/models/m:generateContent', { contents }, keyed())
  expect([path.status, path.json.error.status]).toEqual([400, 'INVALID_ARGUMENT'])
  expect(sandbox.created()).toBe(2)
})

test('what was refused or failed is not kept', async () => {
  const sandbox = await runningSandbox({ faults: [{ action: 'status', nth: 2 }] })
  expect((await call(sandbox, '/v1/responses', { input: 1 }, keyed())).status).toBe(400)
  expect((await call(sandbox, '/v1/responses', { input: 'hi' }, keyed())).status).toBe(503)
  const error = await call(sandbox, '/v1/responses', { model: 'sandbox-error', input: 'hi' }, keyed())
  expect(error.status).toBe(500)
  const answered = await call(sandbox, '/v1/responses', { input: 'hi' }, keyed())
  expect([answered.status, answered.headers.get('idempotent-replayed')]).toEqual([200, null])
  expect(sandbox.created()).toBe(1)
})

test('what was accepted and then lost comes whole the second time', async () => {
  const faults = [{ action: 'close', nth: 1 } as const]
  const sandbox = await runningSandbox({ faults })
  const body = { input: 'hi', stream: true }
  await expect(call(sandbox, '/v1/responses', body, keyed())).rejects.toThrow('terminated')
  const { text, headers } = await call(sandbox, '/v1/responses', body, keyed())
  expect(headers.get('idempotent-replayed')).toBe('true')
  const usual = await call(await runningSandbox({ clock: fakeClock() }), '/v1/responses', body)
  expect(text.split('\n')).toHaveLength(usual.text.split('\n').length)
  expect(sandbox.created()).toBe(1)
})

test('a creation that a fault accepts exists behind the error, and the key finds it', async () => {
  const faults = [{ action: 'status', status: 504, nth: 1, accepted: true } as const]
  const sandbox = await runningSandbox({ faults })
  expect((await call(sandbox, '/v1/videos', { prompt: 'a boat' }, keyed())).status).toBe(504)
  const { json } = await call(sandbox, '/v1/videos', { prompt: 'a boat' }, keyed())
  const list = await call(sandbox, '/v1/videos')
  const made = list.json.data.filter(({ prompt }: Json) => prompt === 'a boat')
  expect(made.map(({ id }: Json) => id)).toEqual([json.id])
  expect(sandbox.created()).toBe(1)
})

test('a second request joins the first one that is still running', async () => {
  const clock = fakeClock()
  const sandbox = await runningSandbox({ clock, latency: 'natural' })
  const ask = () =>
    rawCall(sandbox, '/v1/responses', { input: 'hi', stream: true }, { 'idempotency-key': 'key-1' })
  const first = ask()
  await until(() => clock.pendingTimers === 1)
  const second = ask()
  await until(() => clock.pendingTimers === 2)
  await clock.advance(20_000)
  const payload = ({ bytes }: { bytes: string }) => bytes.slice(bytes.indexOf('event: '))
  expect(payload(await second.over)).toBe(payload(await first.over))
  expect(sandbox.created()).toBe(1)
})

test('a client that leaves does not spoil the answer for the next', async () => {
  const sandbox = await runningSandbox({ clock: fakeClock(), latency: 'natural' })
  const body = { prompt: 'a dot', model: 'image-model-a', stream: true, partial_images: 1 }
  const leaving = new AbortController()
  const headers = { authorization: 'Bearer x', 'idempotency-key': 'key-1' }
  const request = { method: 'POST', headers, body: JSON.stringify(body), signal: leaving.signal }
  const response = await fetch(`${sandbox.url}/v1/images/generations`, request)
  leaving.abort()
  await expect(response.text()).rejects.toThrow('aborted')
  const again = rawCall(sandbox, '/v1/images/generations', body, { 'idempotency-key': 'key-1' })
  await until(() => again.bytes.includes('200 OK'))
  expect(again.bytes).toContain('idempotent-replayed')
  expect(sandbox.created()).toBe(1)
})

const replyOf = (name: string, size = 1): Reply => jsonReply(name.repeat(size), { creates: true })
async function textOf({ frames }: Reply): Promise<string> {
  const texts: string[] = []
  for await (const { text } of frames as AsyncIterable<Frame>) texts.push(text)
  return texts.join('')
}

test('of those that wait for a first answer that fails, one is answered anew', async () => {
  const answerOnce = createFirstAnswers()
  const { promise, reject } = Promise.withResolvers<Reply>()
  const first = answerOnce('key', 'same', () => promise)
  let made = 0
  const others = [1, 2].map(() => answerOnce('key', 'same', async () => replyOf(`answer ${++made}`)))
  reject(new Error('lost'))
  await expect(first).rejects.toThrow('lost')
  const texts = await Promise.all(others.map(async (other) => textOf(await other)))
  expect(texts).toEqual(['"answer 1"', '"answer 1"'])
})
