import { expect, test } from 'vitest'
import { call, runningSandbox } from '../support/running-sandbox.ts'

test.for([
  ['GET', '/v1/videos/video%5Fsandbox%5Fsource', 200, 'video_sandbox_source'],
  ['GET', '/v1/videos/operations%2Fvideo_sandbox_source', 200, 'video_sandbox_source'],
  ['GET', '/v1/videos/%E0%A4%A', 404, 'video_not_found'],
  ['GET', '/v1/videos/', 404, 'Invalid URL'],
  ['GET', '/v1/models/', 404, 'Invalid URL'],
  ['POST', '/v1/models', 404, 'Invalid URL'],
  ['DELETE', '/v1/models', 404, 'Invalid URL'],
  ['GET', '//v1/models', 404, 'Invalid URL'],
  ['GET', '/v1/responses/__proto__', 404, "'__proto__' not found"],
  ['POST', '/v1beta/models/a:b:generateContent', 200, '"modelVersion": "a:b"'],
  ['POST', '/v1/models/a%2Fb:generateContent', 200, '"modelVersion": "a/b"'],
  ['POST', '/v1beta/models/:generateContent', 404, 'Invalid URL'],
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
