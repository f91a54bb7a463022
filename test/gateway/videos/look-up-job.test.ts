import { expect, test } from 'vitest'
import { ModelgateError } from '../../../src/errors.ts'
import { createJobLookUp, lookUpJob, type Job } from '../../../src/gateway/videos/look-up-job.ts'
import type { JobReport } from '../../../src/gateway/videos/job-fields.ts'
import { localServer } from '../../support/local-server.ts'
import { json, readAll, reset, text, type ServerReply } from '../../support/server-replies.ts'
import { testGateway } from '../test-gateway.ts'
import { operationName } from './job-facts.ts'

const video: Job = { kind: 'video', id: 'video_a+b/c=' }
const operation: Job = { kind: 'operation', id: operationName }
const asVideo = '/v1/videos/umz7sqimep69'

async function outcome(promise: Promise<JobReport>): Promise<JobReport | ModelgateError> {
  return promise.catch((error: unknown) => {
    if (error instanceof ModelgateError) return error
    throw error
  })
}

const noRoute = json(
  { error: { message: `Invalid URL (GET /v1beta/${operationName})`, type: 'invalid_request_error' } },
  { status: 404 },
)
const noTask = json({ code: 'task_not_exist', message: 'task_not_exist', data: null }, { status: 400 })
/** Each look-up is one request. */
const once = { policy: { maxRetries: 0 } }
const busy = json({}, { status: 503 })

test('asks for a video by its id, whatever that looks like', async () => {
  const server = await localServer([json({ id: video.id, status: 'running', progress: '7%' })])
  expect(await lookUpJob(testGateway(`${server.url}/proxy`), video)).toMatchObject({ ...video, progress: 7 })
  const [{ line, headers }] = server.requests as [(typeof server.requests)[0]]
  expect(line).toBe('GET /proxy/v1/videos/video_a%2Bb%2Fc%3D HTTP/1.1')
  expect(headers['authorization']).toBe('Bearer test-key-0123456789')
  expect(headers).not.toHaveProperty('idempotency-key')
})

test('asks for an operation by its name', async () => {
  const server = await localServer([json({ name: operationName })])
  expect(await lookUpJob(testGateway(server.url), operation)).toMatchObject({
    ...operation,
    state: 'in_progress',
  })
  expect(server.requests[0]!.line).toBe(`GET /v1beta/${operationName} HTTP/1.1`)
})

test('encodes each part of a name', async () => {
  const server = await localServer([json({ done: false })])
  await lookUpJob(testGateway(server.url), { kind: 'operation', id: 'models/a b/operations/x%2Fy:z' })
  expect(server.requests[0]!.line).toBe('GET /v1beta/models/a%20b/operations/x%252Fy%3Az HTTP/1.1')
})

test.for<[Job['kind'], string]>([
  ['operation', '../videos/x'],
  ['operation', 'https://evil.test/x'],
  ['operation', '/x'],
  ['operation', ''],
  ['video', '..'],
  ['video', ''],
])('sends nothing for the %s %j', async ([kind, id]) => {
  const gateway = testGateway('http://gateway.test')
  const code = 'invalid_request'
  expect(await outcome(lookUpJob(gateway, { kind, id }))).toMatchObject({ exitCode: 2, code })
})

test.for<[string, ServerReply, string]>([
  ['404', json({ error: { message: 'No such video' } }, { status: 404 }), '4 no_such_job'],
  ['400 task_not_exist', noTask, '4 no_such_job'],
  ['401', json({}, { status: 401 }), '3 key_refused'],
  ['503', busy, '5 http_503'],
  ['a reset', [readAll, reset], '5 connection_lost'],
  ['a page', text('<html><title>Sign in</title>'), '8 reply_not_understood'],
  ['an error in place of the job', json({ error: { code: 429, message: 'slow down' } }), '5 error_in_reply'],
  ['another job', json({ id: 'video_other', status: 'completed' }), '8 other_job'],
])('%s for a video', async ([, reply, problem]) => {
  const server = await localServer([reply])
  const gateway = testGateway(server.url, once)
  const error = (await outcome(lookUpJob(gateway, video))) as ModelgateError
  expect(`${error.exitCode} ${error.code}`).toBe(problem)
})

test('a video that is not known is named', async () => {
  const server = await localServer([noTask])
  expect(await outcome(lookUpJob(testGateway(server.url), video))).toMatchObject({
    message: expect.stringContaining(`no video ${video.id}`) as string,
    facts: { remoteId: video.id, httpStatus: 400 },
  })
})

test('a gateway that cannot be asked for operations is asked for a video, and that is remembered', async () => {
  const found = json({ id: 'umz7sqimep69', object: 'video', status: 'processing' })
  const server = await localServer([noRoute, found, found, busy, found])
  const gateway = testGateway(server.url, once)
  const lookUp = createJobLookUp(operation)
  expect(await lookUp(gateway)).toMatchObject({ ...operation, state: 'in_progress', status: 'processing' })
  await lookUp(gateway)
  await outcome(lookUp(gateway))
  await lookUp(gateway)
  const paths = server.requests.map(({ line }) => line.split(' ')[1])
  expect(paths).toEqual([`/v1beta/${operationName}`, asVideo, asVideo, asVideo, asVideo])
})

test('a video is not asked for once the operation has been found', async () => {
  const gone = json({ error: { message: 'not found' } }, { status: 404 })
  const server = await localServer([json({ name: operationName }), gone])
  const gateway = testGateway(server.url)
  const lookUp = createJobLookUp(operation)
  await lookUp(gateway)
  expect(await outcome(lookUp(gateway))).toMatchObject({ exitCode: 4, code: 'no_such_job' })
})

test('a look-up that failed decides nothing', async () => {
  const found = json({ id: 'umz7sqimep69', status: 'processing' })
  const server = await localServer([busy, noRoute, busy, noRoute, found])
  const gateway = testGateway(server.url, once)
  const lookUp = createJobLookUp(operation)
  expect(await outcome(lookUp(gateway))).toMatchObject({ exitCode: 5 })
  expect(await outcome(lookUp(gateway))).toMatchObject({ exitCode: 5 })
  expect(await outcome(lookUp(gateway))).toMatchObject({ status: 'processing' })
})

test.for<[string, ServerReply, ServerReply]>([
  ['neither way', noRoute, json({ error: { message: 'nope' } }, { status: 404 })],
  ['no task', noRoute, noTask],
  ['no method', json({}, { status: 405 }), noRoute],
  ['nothing implemented', json({}, { status: 501 }), noTask],
  [
    'no route, with another status',
    json({ error: { message: 'Invalid URL (GET /x)' } }, { status: 400 }),
    noTask,
  ],
])('a gateway that knows %s is explained', async ([, first, second]) => {
  const server = await localServer([first, second])
  const error = (await outcome(lookUpJob(testGateway(server.url, once), operation))) as ModelgateError
  expect(error).toMatchObject({ exitCode: 4, code: 'no_such_job', facts: { remoteId: operationName } })
  expect(error.message).toContain('neither under /v1beta nor as a video')
})

test('a video that was found in place of an operation has to be that job', async () => {
  const server = await localServer([noRoute, json({ id: 'video_other', status: 'completed' })])
  expect(await outcome(lookUpJob(testGateway(server.url), operation))).toMatchObject({ code: 'other_job' })
})
