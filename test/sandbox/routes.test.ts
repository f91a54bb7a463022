import { expect, test } from 'vitest'
import { call, runningSandbox } from '../support/running-sandbox.ts'

test.for([
  ['GET', '/v1/videos/video%5Fsandbox%5Fsource', 200, 'video_sandbox_source'],
  ['GET', '/v1/videos/operations%2Fvideo_sandbox_source', 200, 'video_sandbox_source'],
  ['GET', '/v1/videos/%E0%A4%A', 404, 'video_not_found'],
  ['GET', '/v1/videos/', 404, 'Invalid URL'],
  ['GET', '/v1/models/', 404, 'Invalid URL'],
  ['GET', '/v1/%6dodels', 200, 'sandbox-text'],
  ['GET', '/v1/%6Dodels', 200, 'sandbox-text'],
  ['GET', '/v1%2Fmodels', 404, 'Invalid URL'],
  ['GET', '/v1/%256dodels', 404, 'Invalid URL'],
  ['POST', '/v1%62eta/models/m%3AgenerateContent', 200, '"modelVersion": "m"'],
  ['POST', '/v1beta/models/100%2525:generateContent', 200, '"modelVersion": "100%25"'],
  ['POST', '/v1/models', 405, 'Not allowed to POST on /v1/models.'],
  ['GET', '/v1/responses', 405, '"code":"method_not_supported"'],
  ['GET', '/v1beta/models/m:generateContent', 405, '"status": "UNIMPLEMENTED"'],
  ['GET', '//v1/models', 404, 'Invalid URL'],
  ['GET', '/v1/responses/__proto__', 404, "'__proto__' not found"],
  ['POST', '/v1beta/models/a:b:generateContent', 200, '"modelVersion": "a:b"'],
  ['POST', '/v1/models/a%2Fb:generateContent', 200, '"modelVersion": "a/b"'],
  ['POST', '/v1beta/models/:generateContent', 404, 'Invalid URL'],
  ['POST', '/v1beta/models/m:countTokens', 404, '"status": "NOT_FOUND"'],
  ['POST', '/v1/responses/compact', 404, '"type":"invalid_request_error"'],
  ['POST', '/v1/responses/input_tokens', 404, '"type":"invalid_request_error"'],
  ['GET', '/v1/responses/resp_1/input_items', 404, '"type":"invalid_request_error"'],
  ['POST', '/v1/conversations', 404, '"type":"invalid_request_error"'],
  ['DELETE', '/v1/responses/resp_1', 405, '"code":"method_not_supported"'],
] as const)('%s %s is answered with %i', async ([method, path, status, part]) => {
  const sandbox = await runningSandbox()
  const body = method === 'POST' ? { contents: [{ parts: [{ text: 'hi' }] }] } : undefined
  const answer = await call(sandbox, path, body, { method })
  expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(part)])
})

test('HEAD is answered as GET, without a body', async () => {
  const sandbox = await runningSandbox()
  const { status, headers, text } = await call(sandbox, '/v1/models', undefined, { method: 'HEAD' })
  expect([status, headers.get('content-type'), text]).toEqual([200, 'application/json', ''])
  expect(sandbox.requests()).toMatchObject([{ method: 'HEAD', endpoint: 'models' }])
})

test('HEAD of a path that only takes POST, and a method that it does not take, name those that it takes', async () => {
  const sandbox = await runningSandbox()
  const head = await call(sandbox, '/v1/images/generations', undefined, { method: 'HEAD' })
  expect([head.status, head.headers.get('allow'), head.text]).toEqual([405, 'POST', ''])
  const patch = await call(sandbox, '/v1/videos/video_1', {}, { method: 'PATCH' })
  expect([patch.status, patch.headers.get('allow')]).toEqual([405, 'GET, HEAD, DELETE'])
})

test('the statistics have a HEAD, and are not counted', async () => {
  const sandbox = await runningSandbox()
  expect((await call(sandbox, '/sandbox/stats', undefined, { method: 'HEAD' })).status).toBe(200)
  expect((await call(sandbox, '/sandbox/%73tats')).json.requests).toBe(0)
})

test.for([
  ['POST', '/v1/videos', 'video-create'],
  ['POST', '/v1/videos/video_1/remix', 'video-remix'],
  ['GET', '/v1/videos', 'video-lookup'],
  ['GET', '/v1/videos/video_1/content', 'video-content'],
  ['POST', '/v1beta/models/m:predictLongRunning', 'video-operations'],
  ['GET', '/v1beta/models/m/operations/abc', 'operation-lookup'],
  ['GET', '/download/v1beta/files/abc:download', 'video-files'],
  ['GET', '/sandbox/images/a.png', 'image-files'],
  ['POST', '/v1/images/edits', 'image-edits'],
  ['POST', '/v1/responses/resp_1/cancel', 'response-cancel'],
] as const)('fault rules call %s %s %s', async ([method, path, endpoint]) => {
  const fault = { endpoint, at: 'before-body', action: 'status', status: 418 } as const
  const sandbox = await runningSandbox({ faults: [fault] })
  expect((await call(sandbox, path, method === 'POST' ? {} : undefined, { method })).status).toBe(418)
})
