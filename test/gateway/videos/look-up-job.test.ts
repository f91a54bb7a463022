import { expect, test } from 'vitest'
import { createJobLookUp, lookUpJob, type Job } from '../../../src/gateway/videos/job-requests.ts'
import { json, readAll, reset, text, type ServerReply } from '../../support/server-replies.ts'
import { served, settled, testGateway, verdictOf } from '../test-gateway.ts'
import { operationName } from './job-facts.ts'

const video: Job = { kind: 'video', id: 'video_a+b/c=' }
const operation: Job = { kind: 'operation', id: operationName }
const asVideo = '/v1/videos/umz7sqimep69'

const missing = (message: string) => json({ error: { message } }, { status: 404 })
const noRoute = missing(`Invalid URL (GET /v1beta/${operationName})`)
const noTask = json({ code: 'task_not_exist', message: 'task_not_exist', data: null }, { status: 400 })
const busy = json({}, { status: 503 })
/** Each look-up is one request. */
const once = { policy: { maxRetries: 0 } }

test('asks for a video by its id, whatever that looks like', async () => {
  const { server } = await served([json({ id: video.id, status: 'running', progress: '7%' })])
  expect(await lookUpJob(testGateway(`${server.url}/proxy`), video)).toMatchObject({ ...video, progress: 7 })
  const { line, headers } = server.requests[0]!
  expect(line).toBe('GET /proxy/v1/videos/video_a%2Bb%2Fc%3D HTTP/1.1')
  expect(headers['authorization']).toBe('Bearer test-key-0123456789')
  expect(headers).not.toHaveProperty('idempotency-key')
})

test.for([
  [operationName, operationName],
  ['models/a b/operations/x%2Fy:z', 'models/a%20b/operations/x%252Fy%3Az'],
] as const)('asks for the operation %s by its name', async ([id, path]) => {
  const { server, gateway } = await served([json({ done: false })])
  const found = await lookUpJob(gateway, { kind: 'operation', id })
  expect(found).toMatchObject({ id, kind: 'operation', state: 'in_progress' })
  expect(server.requests[0]!.line).toBe(`GET /v1beta/${path} HTTP/1.1`)
})

test.for<[Job['kind'], string]>([
  ['operation', '../videos/x'],
  ['operation', 'https://evil.test/x'],
  ['operation', '/x'],
  ['operation', ''],
  ['video', '..'],
  ['video', ''],
])('sends nothing for the %s %j', async ([kind, id]) => {
  expect(await verdictOf(lookUpJob(testGateway('http://gateway.test'), { kind, id }))).toBe(
    '2 invalid_request',
  )
})

test.for<[string, ServerReply, string]>([
  ['404', missing('No such video'), '4 no_such_job'],
  ['400 task_not_exist', noTask, '4 no_such_job'],
  ['401', json({}, { status: 401 }), '3 key_refused'],
  ['503', busy, '5 http_503'],
  ['a reset', [readAll, reset], '5 connection_lost'],
  ['a page', text('<html><title>Sign in</title>'), '8 reply_not_understood'],
  ['an error in place of the job', json({ error: { code: 429, message: 'slow down' } }), '5 error_in_reply'],
  ['another job', json({ id: 'video_other', status: 'completed' }), '8 other_job'],
])('%s for a video', async ([, reply, problem]) => {
  expect(await verdictOf(lookUpJob((await served([reply], once)).gateway, video))).toBe(problem)
})

test('a video that is not known is named', async () => {
  expect(await settled(lookUpJob((await served([noTask])).gateway, video))).toMatchObject({
    message: expect.stringContaining(`no video ${video.id}`) as string,
    facts: { remoteId: video.id, httpStatus: 400 },
  })
})

test('a gateway that cannot be asked for operations is asked for a video, and that is remembered', async () => {
  const found = json({ id: 'umz7sqimep69', object: 'video', status: 'processing' })
  const { server, gateway } = await served([noRoute, found, busy, found], once)
  const lookUp = createJobLookUp(operation)
  expect(await lookUp(gateway)).toMatchObject({ ...operation, state: 'in_progress', status: 'processing' })
  expect(await verdictOf(lookUp(gateway))).toBe('5 http_503')
  await lookUp(gateway)
  const paths = server.requests.map(({ line }) => line.split(' ')[1])
  expect(paths).toEqual([`/v1beta/${operationName}`, asVideo, asVideo, asVideo])
})

test('a video is not asked for once the operation has been found', async () => {
  const { gateway } = await served([json({ name: operationName }), missing('not found')])
  const lookUp = createJobLookUp(operation)
  await lookUp(gateway)
  expect(await verdictOf(lookUp(gateway))).toBe('4 no_such_job')
})

test('a look-up that failed decides nothing', async () => {
  const found = json({ id: 'umz7sqimep69', status: 'processing' })
  const { gateway } = await served([busy, noRoute, busy, noRoute, found], once)
  const lookUp = createJobLookUp(operation)
  for (const _ of [1, 2]) expect(await verdictOf(lookUp(gateway))).toBe('5 http_503')
  expect(await lookUp(gateway)).toMatchObject({ status: 'processing' })
})

test.for<[string, ServerReply, ServerReply]>([
  ['neither way', noRoute, missing('nope')],
  ['no task', noRoute, noTask],
  ['no method', json({}, { status: 405 }), noRoute],
  ['nothing implemented', json({}, { status: 501 }), noTask],
  [
    'no route, with another status',
    json({ error: { message: 'Invalid URL (GET /x)' } }, { status: 400 }),
    noTask,
  ],
])('a gateway that knows %s is explained', async ([, first, second]) => {
  const { gateway } = await served([first, second], once)
  expect(await settled(lookUpJob(gateway, operation))).toMatchObject({
    exitCode: 4,
    code: 'no_such_job',
    message: expect.stringContaining('neither under /v1beta nor as a video') as string,
    facts: { remoteId: operationName },
  })
})

test('a video that was found in place of an operation has to be that job', async () => {
  const { gateway } = await served([noRoute, json({ id: 'video_other', status: 'completed' })])
  expect(await verdictOf(lookUpJob(gateway, operation))).toBe('8 other_job')
})
