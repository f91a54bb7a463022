import { expect, test } from 'vitest'
import { Interrupted, type ModelgateError } from '../../../src/errors.ts'
import type { Gateway } from '../../../src/gateway/gateway.ts'
import {
  jobInBeginning,
  operationRequest,
  remixRequest,
  startJob,
} from '../../../src/gateway/videos/job-requests.ts'
import {
  end,
  head,
  json,
  readAll,
  reset,
  stall,
  text,
  write,
  type ServerReply,
} from '../../support/server-replies.ts'
import { advanceUntilSettled, served, settled, testGateway, until } from '../test-gateway.ts'
import { operationName } from './job-facts.ts'

const idempotencyKey = 'key-0123'
const body = { instances: [{ prompt: 'a paper boat' }], parameters: { sampleCount: 1 } }

const create = (gateway: Gateway, model = 'veo') =>
  settled(startJob(gateway, operationRequest(gateway, model, { body, idempotencyKey }), 'operation'))

const remix = (gateway: Gateway, id = 'video_1') => {
  const request = remixRequest(gateway, id, { body: { model: 'm', prompt: 'p' }, idempotencyKey })
  return settled(startJob(gateway, request, 'video'))
}

test('asks for an operation', async () => {
  const { server } = await served([json({ name: operationName }, { headers: { 'x-request-id': 'req-7' } })])
  const report = await create(testGateway(`${server.url}/proxy`), 'veo/3:1')
  expect(report).toMatchObject({ id: operationName, kind: 'operation', state: 'pending', requestId: 'req-7' })
  const { line, headers, body: sent } = server.requests[0]!
  expect(line).toBe('POST /proxy/v1beta/models/veo%2F3%3A1:predictLongRunning HTTP/1.1')
  expect(headers).toMatchObject({
    authorization: 'Bearer test-key-0123456789',
    'content-type': 'application/json',
    'idempotency-key': idempotencyKey,
  })
  expect(JSON.parse(sent.toString())).toEqual(body)
})

test.each([
  ['queued', 'pending'],
  ['warming_up', 'in_progress'],
  ['待機', 'in_progress'],
])('asks for a remix, which is %s at first', async (status, state) => {
  const { server, gateway } = await served([json({ id: 'video_2', object: 'video', status, progress: 0 })])
  const expected = { id: 'video_2', kind: 'video', state, status, progress: 0, failure: undefined }
  expect(await remix(gateway, 'video_a+b/c=')).toMatchObject(expected)
  expect(server.requests[0]!.line).toBe('POST /v1/videos/video_a%2Bb%2Fc%3D/remix HTTP/1.1')
})

/** The beginning of a reply that says how long it is. */
const beginning = (content: string): ServerReply[number] =>
  write(head(200, { 'content-length': '100' }) + content)

test.for<[string, ServerReply, string]>([
  ['is never answered', [readAll, reset], '7 connection_lost'],
  ['is answered in part', [readAll, beginning('{"name":"models/m/operations/1'), end], '7 connection_lost'],
  ['is cut where nobody can tell', [readAll, write(`${head(200)}{"name":`), end], '7 connection_lost'],
  ['fails', json({ error: { message: 'oops' } }, { status: 500 }), '7 http_500'],
  ['is answered with a page', text('<html><title>Welcome</title></html>'), '8 reply_not_understood'],
  ['is answered without an id', json({ status: 'queued' }), '8 reply_not_understood'],
  ['is answered with no name', json({ name: '../x' }), '8 reply_not_understood'],
])('a job may exist when the request %s: it is not sent again', async ([, reply, problem]) => {
  for (const send of [create, remix]) {
    const { server, gateway } = await served([reply])
    const error = (await send(gateway)) as ModelgateError
    expect(`${error.exitCode} ${error.code}`).toBe(problem)
    expect(error.facts).toMatchObject({ billed: 'maybe' })
    expect(error.facts.hint).toContain(idempotencyKey)
    expect(error.message).toContain('A job may exist.')
    expect(gateway.clock.pendingTimers).toBe(0)
    await until(() => server.openSockets === 0)
  }
})

const long = `{"prompt":"${'\u{1f980}'.repeat(32_000)}","id":"video_2",`

test.for<[string, ServerReply, string]>([
  [
    'by a reset',
    [readAll, beginning('{"name": "models/m/operations/\\u0031", "metadata": {"a"'), reset],
    'models/m/operations/1',
  ],
  ['orderly', [readAll, write(`${head(200)}{\n  "id": "video_1",\n  "obj`), end], 'video_1'],
  [
    'behind an echoed prompt of 32,000 characters of four bytes',
    [readAll, write(head(200)), ...Array.from(long.match(/.{1,500}/gsu)!, (piece) => write(piece)), end],
    'video_2',
  ],
])('a job whose reply is cut after its name has that name: %s', async ([, reply, id]) => {
  const { gateway } = await served([reply])
  expect(await create(gateway)).toMatchObject({ id, state: 'pending', isCut: true })
})

/** @param until where in the reply the id is known */
test.each<[string, kind: 'video' | 'operation', reply: string, id: string, until: string]>([
  [
    'an operation',
    'operation',
    '{"name":"models/veo/operations/op-1"}',
    'models/veo/operations/op-1',
    'op-1"',
  ],
  [
    'an operation in lines',
    'operation',
    '{\n  "done": false,\n  "name": "models/veo/operations/op-1",\n  "metadata": {"@type": "x"}\n}',
    'models/veo/operations/op-1',
    'op-1"',
  ],
  [
    'a video whose id is not first',
    'video',
    '{"object":"video","status":"queued","tags":["a","}"],"id":"video_1","progress":0}',
    'video_1',
    'video_1"',
  ],
  ['a number', 'video', '{"task_id": 12345678901234567890, "code": 0}', '12345678901234567890', '7890,'],
  [
    'what a relay wraps',
    'video',
    '{"code":"success","data":{"task_id":"t\\"1","status":"x"}}',
    't"1',
    't\\"1"',
  ],
  ['a stream', 'video', 'data: {"id":"video_1","status":"queued"}\n\n', 'video_1', 'video_1"'],
])('%s: the id is known as soon as it has come, and never another', (_, kind, reply, id, last) => {
  const whole = reply.indexOf(last) + last.length
  for (let length = 0; length <= reply.length; length++) {
    const found = jobInBeginning(reply.slice(0, length), kind)
    expect([length, found?.id]).toEqual([length, length < whole ? undefined : id])
  }
})

test.each([
  ['nothing', ''],
  ['no JSON', '<html><body>Bad gateway'],
  ['an error', '{"error":{"message":"No.","code":400}}'],
  ['an id of the request alone', '{"request_id":"req_1"'],
  ['an id inside something else', '{"prompt":{"id":"x"},"status":"queued"'],
  ['no path', '{"name":"https://elsewhere.example/op"'],
])('the beginning of %s names no job', (_, content) => {
  expect(jobInBeginning(content, 'operation')).toBeUndefined()
})

test('an id that is a larger number than JavaScript can hold keeps its digits', async () => {
  const { gateway } = await served([text('{"task_id": 1234567890123456789, "n": 12345678901234567890}')])
  expect(await create(gateway)).toMatchObject({ id: '1234567890123456789', state: 'pending' })
})

test('a signal while the answer is awaited', async () => {
  const { server, gateway } = await served([[readAll, stall]])
  const sent = create(gateway)
  await until(() => server.requests[0]?.complete === true)
  gateway.abort(new Interrupted('interrupt'))
  const error = await sent
  expect(error).toBeInstanceOf(Interrupted)
  expect(error).toMatchObject({
    exitCode: 130,
    facts: { billed: 'maybe', phase: 'wait', hint: expect.stringContaining(idempotencyKey) as string },
  })
})

test('nothing but blanks is no answer', async () => {
  const reply = [readAll, write(`${head(200)}    `), stall]
  const { server, gateway } = await served([reply], { limits: { idle: undefined } })
  const sent = create(gateway)
  await until(() => server.requests[0]?.complete === true)
  await advanceUntilSettled(gateway.clock, 60_000, sent, () => server.isEndless)
  expect(await sent).toMatchObject({ exitCode: 7, code: 'timeout', facts: { billed: 'maybe' } })
})
