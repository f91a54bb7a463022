import { expect, test } from 'vitest'
import { Interrupted, ModelgateError } from '../../../src/errors.ts'
import type { Gateway } from '../../../src/gateway/gateway.ts'
import { operationRequest, remixRequest, startJob } from '../../../src/gateway/videos/start-job.ts'
import type { JobReport } from '../../../src/gateway/videos/job-fields.ts'
import { localServer } from '../../support/local-server.ts'
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
import { advanceUntilSettled, testGateway, until } from '../test-gateway.ts'
import { operationName } from './job-facts.ts'

const idempotencyKey = 'key-0123'
const body = { instances: [{ prompt: 'a paper boat' }], parameters: { sampleCount: 1 } }

type Outcome = JobReport | ModelgateError

async function outcome(promise: Promise<JobReport>): Promise<Outcome> {
  return promise.catch((error: unknown) => {
    if (error instanceof ModelgateError) return error
    throw error
  })
}

const create = (gateway: Gateway, model = 'veo') =>
  outcome(startJob(gateway, operationRequest(gateway, model, { body, idempotencyKey }), 'operation'))

const remix = (gateway: Gateway, id = 'video_1') =>
  outcome(
    startJob(
      gateway,
      remixRequest(gateway, id, { body: { model: 'm', prompt: 'p' }, idempotencyKey }),
      'video',
    ),
  )

test('asks for an operation', async () => {
  const server = await localServer([json({ name: operationName }, { headers: { 'x-request-id': 'req-7' } })])
  const report = await create(testGateway(`${server.url}/proxy`), 'veo/3:1')
  expect(report).toMatchObject({ id: operationName, kind: 'operation', state: 'pending', requestId: 'req-7' })
  const [{ line, headers, body: sent }] = server.requests as [(typeof server.requests)[0]]
  expect(line).toBe('POST /proxy/v1beta/models/veo%2F3%3A1:predictLongRunning HTTP/1.1')
  expect(headers).toMatchObject({
    authorization: 'Bearer test-key-0123456789',
    'content-type': 'application/json',
    'idempotency-key': idempotencyKey,
  })
  expect(JSON.parse(sent.toString())).toEqual(body)
})

test.each(['warming_up', '待機'])('a new job in the unknown state %s is running', async (status) => {
  const server = await localServer([json({ id: 'video_2', object: 'video', status, progress: 0 })])
  expect(await remix(testGateway(server.url))).toMatchObject({
    id: 'video_2',
    state: 'in_progress',
    status,
    failure: undefined,
  })
})

test('asks for a remix', async () => {
  const server = await localServer([json({ id: 'video_2', object: 'video', status: 'queued', progress: 0 })])
  const report = await remix(testGateway(server.url), 'video_a+b/c=')
  expect(report).toMatchObject({
    id: 'video_2',
    kind: 'video',
    state: 'pending',
    status: 'queued',
    progress: 0,
  })
  expect(server.requests[0]!.line).toBe('POST /v1/videos/video_a%2Bb%2Fc%3D/remix HTTP/1.1')
})

/** The beginning of a reply that says how long it is. */
const beginning = (content: string): ServerReply[number] =>
  write(head(200, { 'content-length': '100' }) + content)

test.for<[string, ServerReply, string]>([
  ['is never answered', [readAll, reset], '7 connection_lost'],
  ['is answered in part', [readAll, beginning('{"name":'), end], '7 connection_lost'],
  ['is cut where nobody can tell', [readAll, write(`${head(200)}{"name":`), end], '7 connection_lost'],
  ['fails', json({ error: { message: 'oops' } }, { status: 500 }), '7 http_500'],
  ['is answered with a page', text('<html><title>Welcome</title></html>'), '8 reply_not_understood'],
  ['is answered without an id', json({ status: 'queued' }), '8 reply_not_understood'],
  ['is answered with no name', json({ name: '../x' }), '8 reply_not_understood'],
])('a job may exist when the request %s: it is not sent again', async ([, reply, problem]) => {
  for (const send of [create, remix]) {
    const server = await localServer([reply])
    const gateway = testGateway(server.url)
    const error = (await send(gateway)) as ModelgateError
    expect(`${error.exitCode} ${error.code}`).toBe(problem)
    expect(error.facts).toMatchObject({ billed: 'maybe' })
    expect(error.facts.hint).toContain(idempotencyKey)
    expect(error.message).toContain('A job may exist.')
    expect(gateway.clock.pendingTimers).toBe(0)
    await until(() => server.openSockets === 0)
  }
})

test.for<[string, ServerReply, string]>([
  [
    'by a reset',
    [readAll, beginning('{"name": "models/m/operations/\\u0031", "metadata": {"a"'), reset],
    'models/m/operations/1',
  ],
  ['orderly', [readAll, write(`${head(200)}{\n  "id": "video_1",\n  "obj`), end], 'video_1'],
  ['after other fields', [readAll, beginning('{"hello":"x","id":"y",'), end], 'y'],
  [
    'behind an echoed prompt of 32,000 characters of four bytes',
    [
      readAll,
      write(head(200)),
      ...Array.from(
        `{"prompt":"${'\u{1f980}'.repeat(32_000)}","id":"video_2",`.match(/.{1,500}/gsu)!,
        (piece) => write(piece),
      ),
      end,
    ],
    'video_2',
  ],
  ['after a number', [readAll, beginning('{"task_id":1234567890123456789,"sta'), end], '1234567890123456789'],
])('a job whose reply is cut after its name has that name: %s', async ([, reply, id]) => {
  const server = await localServer([reply])
  expect(await create(testGateway(server.url))).toMatchObject({ id, state: 'pending', isCut: true })
})

test.for([
  '{"name":"models/m/operations/1',
  '{"task_id":123',
  '{"hello":"x","id":"y',
  '{"error":{"id":"x","m',
])('a job whose reply is cut after %s has no name', async (content) => {
  const server = await localServer([[readAll, beginning(content), end]])
  expect(await create(testGateway(server.url))).toMatchObject({ exitCode: 7, facts: { billed: 'maybe' } })
})

test('an id that is a larger number than JavaScript can hold keeps its digits', async () => {
  const server = await localServer([
    text('{"task_id": 1234567890123456789, "status": "queued", "n": 12345678901234567890}'),
  ])
  expect(await create(testGateway(server.url))).toMatchObject({ id: '1234567890123456789', state: 'pending' })
})

test('a signal while the answer is awaited', async () => {
  const server = await localServer([[readAll, stall]])
  const gateway = testGateway(server.url)
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
  const steps: ServerReply = [readAll, write(`${head(200)}    `), stall]
  const server = await localServer([steps])
  const gateway = testGateway(server.url, { limits: { idle: undefined } })
  const sent = create(gateway)
  await until(() => server.requests[0]?.complete === true)
  await advanceUntilSettled(gateway.clock, 60_000, sent, () => server.isEndless)
  expect(await sent).toMatchObject({ exitCode: 7, code: 'timeout', facts: { billed: 'maybe' } })
})
