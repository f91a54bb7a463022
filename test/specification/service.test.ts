import { describe, expect, test } from 'vitest'
import { localServer } from '../support/local-server.ts'
import { call, respond, runningSandbox, type Json } from '../support/running-sandbox.ts'
import { runMain } from '../support/run-main.ts'
import { json } from '../support/server-replies.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { testImages } from '../support/test-images.ts'
import { operate } from '../support/video-calls.ts'
import { requestOf } from './both-sides.ts'

// The endpoints of videos, and "Authentication", "Events" and "Versioning" of the specification, row by row, on both
// sides; the images' events are in `sandbox/images/replies.ci.test.ts`.

const endpoints = [
  [1, 'POST', '/v1beta/models/sandbox-text:streamGenerateContent'],
  [2, 'POST', '/v1/responses'],
  [3, 'POST', '/v1/videos/video_1/remix'],
  [4, 'POST', '/v1/images/generations'],
  [5, 'GET', '/v1/videos/video_1'],
  [6, 'POST', '/v1/images/edits'],
  [7, 'POST', '/v1beta/models/sandbox-video:predictLongRunning'],
] as const

describe('endpoint 3, POST /v1/videos/{video_id}/remix', () => {
  const source = 'video_sandbox_source'
  const path = `/v1/videos/${source}/remix`

  test('model, required, the video remix model; prompt, required', async () => {
    const sandbox = await runningSandbox()
    const good = { model: 'video-model-remix', prompt: 'make it night' }
    const models = [undefined, 5, null, 'image-model-a'].map((model) => ({ ...good, model }))
    const prompts = [undefined, 5, null].map((prompt) => ({ ...good, prompt }))
    for (const body of [...models, ...prompts])
      expect([body, (await call(sandbox, path, body)).status]).toEqual([body, 400])
    expect((await call(sandbox, path, good)).status).toBe(200)
    const remix = ['video', 'remix', source]
    const { code, request } = await requestOf([...remix, '-m', 'video-model-remix', 'make it night'])
    const { pathname } = new URL(request.url)
    expect([code, request.method, pathname, request.body]).toEqual([0, 'POST', path, good])
    expect((await requestOf([...remix, 'make it night'])).code).toBe(2)
    expect((await requestOf([...remix, '-m', 'video-model-remix'])).code).toBe(2)
    expect((await requestOf([...remix, '-m', 'image-model-a', 'make it night'])).code).toBe(2)
  })

  test('the reply is a Video with its remixed_from_video_id', async () => {
    const body = { model: 'video-model-remix', prompt: 'make it night' }
    const { json: video } = await call(await runningSandbox(), path, body)
    const fields = ['id', 'object', 'created_at', 'model', 'status', 'progress', 'seconds', 'size']
    expect(Object.keys(video)).toEqual(expect.arrayContaining(fields))
    expect(video).toMatchObject({ remixed_from_video_id: source, error: null })
  })
})

test('endpoint 5, GET /v1/videos/{video_id}: no body, 200, application/json', async () => {
  const { request } = await requestOf(['video', 'status', 'video_1'])
  const { pathname } = new URL(request.url)
  expect([request.method, pathname, request.body]).toEqual(['GET', '/v1/videos/video_1', undefined])
  const { status, headers } = await call(await runningSandbox(), '/v1/videos/video_sandbox_source')
  expect([status, headers.get('content-type')]).toEqual([200, expect.stringMatching(/^application\/json/)])
})

describe('endpoint 7, POST /v1beta/models/{model}:predictLongRunning', () => {
  const flags = ['video', 'generate', '-m', 'sandbox-video']

  test('model, in the path; instances and parameters are required', async () => {
    const sandbox = await runningSandbox()
    const path = '/v1beta/models/sandbox-video:predictLongRunning'
    const instances = [{ prompt: 'a boat' }]
    const statusOf = async (body: Json) => (await call(sandbox, path, body)).status
    expect(await statusOf({ instances, parameters: {} })).toBe(200)
    expect(await statusOf({ instances })).toBe(400)
    expect(await statusOf({ parameters: {} })).toBe(400)
    expect(await statusOf({ instances: 'a boat', parameters: {} })).toBe(400)
    for (const wrong of [[], [5], [{ prompt: 5 }], null]) {
      expect(await statusOf({ instances: wrong, parameters: {} })).toBe(400)
      const set = ['--set', `instances=${JSON.stringify(wrong)}`]
      expect((await requestOf([...flags, ...set])).code).toBe(2)
    }
    for (const wrong of [[], 'wide', null]) {
      expect(await statusOf({ instances, parameters: wrong })).toBe(400)
      const set = ['--set', `parameters=${JSON.stringify(wrong)}`]
      expect((await requestOf([...flags, ...set, 'a boat'])).code).toBe(2)
    }
    const { request } = await requestOf([...flags, 'a boat'])
    expect([new URL(request.url).pathname, request.body]).toEqual([path, { instances, parameters: {} }])
  })

  test.each<[name: string, flag: string, value: unknown, refused: unknown]>([
    ['aspectRatio', '--aspect-ratio', '16:9', 5],
    ['aspectRatio', '--aspect-ratio', '21:9', true],
    ['durationSeconds', '--duration-seconds', 4, 'four'],
    ['durationSeconds', '--duration-seconds', 15, 1.5],
    ['sampleCount', '--sample-count', 1, 'one'],
    ['sampleCount', '--sample-count', 7, 1.5],
  ])('parameters.%s takes %s %s: only its type is specified', async (name, flag, value, refused) => {
    const sandbox = await runningSandbox()
    const { code, request } = await requestOf([...flags, flag, String(value), 'a boat'])
    expect([code, request?.body.parameters]).toEqual([0, { [name]: value }])
    expect((await operate(sandbox, { [name]: value })).status).toBe(200)
    expect((await operate(sandbox, { [name]: refused })).status).toBe(400)
    const set = ['--set', `parameters.${name}=${JSON.stringify(refused)}`]
    expect((await requestOf([...flags, ...set, 'a boat'])).code).toBe(2)
  })
})

describe('Authentication', () => {
  test.each(endpoints)('endpoint %i requires Authorization', async (_, method, path) => {
    const sandbox = await runningSandbox()
    for (const authorization of ['', 'Bearer', 'Bearer invalid', 'Basic a2V5']) {
      const body = method === 'GET' ? undefined : {}
      const { status } = await call(sandbox, path, body, { headers: { authorization } })
      expect([authorization, status]).toEqual([authorization, 401])
    }
  })

  test.each([
    ['/v1beta/models/m:streamGenerateContent?alt=sse', 'generate', '-m', 'm', 'hi'],
    ['/v1/responses', 'respond', 'hi'],
    ['/v1/images/generations', 'image', 'create', 'a boat'],
    ['/v1/images/edits', 'image', 'edit', '--image', 'a.png', 'a boat'],
    ['/v1beta/models/m:predictLongRunning', 'video', 'generate', '-m', 'm', '--no-wait', 'a boat'],
    ['/v1/videos/video_1/remix', ...'video remix video_1 -m video-model-remix --no-check night'.split(' ')],
    ['/v1/videos/video_1', 'video', 'status', 'video_1'],
  ])('%s gets Authorization: Bearer, and a refusal is exit 3', async (path, ...argv) => {
    const error = { message: 'no', type: 'invalid_request_error', param: null, code: 'invalid_api_key' }
    const server = await localServer([json({ error }, { status: 401 })])
    const cwd = temporaryFolder()
    writeFiles(cwd, { 'a.png': (await testImages(32)).png })
    const env = { MODELGATE_BASE_URL: server.url, MODELGATE_API_KEY: 'key-1234', MODELGATE_STATE_DIR: cwd }
    const { code } = await runMain([...argv, '--no-stdin'], { env, cwd })
    const { line, headers } = server.requests[0]!
    expect([code, line.split(' ')[1], headers['authorization']]).toEqual([3, path, 'Bearer key-1234'])
  })
})

test('Events: endpoint 2 streams when stream is true, and is JSON otherwise', async () => {
  const sandbox = await runningSandbox()
  const typeOf = async (more: Json) => (await respond(sandbox, 'hi', more)).headers.get('content-type')
  expect(await typeOf({ stream: true })).toMatch(/^text\/event-stream/)
  expect(await typeOf({})).toMatch(/^application\/json/)
  expect((await requestOf(['respond', 'hi'])).request.body.stream).toBe(true)
  expect((await requestOf(['respond', '--no-stream', 'hi'])).request.body.stream).toBe(false)
})
