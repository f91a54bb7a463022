import { expect, test } from 'vitest'
import { testContext } from '../support/test-context.ts'
import { startSandbox } from '../../src/sandbox/start-sandbox.ts'
import { call, rawCall, respond, runningSandbox, until, type Json } from '../support/running-sandbox.ts'

const contents = [{ parts: [{ text: 'hi' }] }]
const generatePath = '/v1beta/models/sandbox-text:generateContent'

test.for([
  ['/v1/responses', { type: 'invalid_request_error', param: null, code: 'invalid_api_key' }],
  [generatePath, { code: 401, status: 'UNAUTHENTICATED' }],
] as const)('%s refuses a key in the envelope of its family', async ([path, error]) => {
  const headers = { authorization: 'Bearer invalid' }
  const { status, json } = await call(await runningSandbox(), path, {}, { headers })
  expect([status, json.error]).toMatchObject([401, error])
})

test('no key appears in a reply, a request record or a log line', async () => {
  const lines: string[] = []
  const sandbox = await runningSandbox({ onRequest: (line) => lines.push(line) })
  const key = 'canary-7f3a'
  const bearer = { headers: { authorization: `Bearer ${key}` } }
  const replies = [
    await call(sandbox, `${generatePath}?key=${key}`, { contents }, { headers: { authorization: '' } }),
    await call(sandbox, `/v1/nothing?key=${key}`, { a: 1 }, bearer),
    await call(sandbox, '/v1/responses', { input: 1 }, bearer),
    await call(sandbox, '/sandbox/stats', undefined, bearer),
  ]
  const everything = JSON.stringify([replies.map(({ text }) => text), sandbox.requests(), lines])
  expect(everything).not.toContain(key)
  expect(lines).toHaveLength(3)
})

test.for(['{"input":', '[]', '"text"', 'null', '', '\ufffe', `${'['.repeat(9000)}${']'.repeat(9000)}`])(
  'a body that is no JSON object (%#) is 400',
  async (body) => {
    const sandbox = await runningSandbox()
    const { status, json } = await call(sandbox, '/v1/responses', body, { method: 'POST' })
    expect([status, json.error.type]).toEqual([400, 'invalid_request_error'])
  },
)

test('a body above the size limit is 413 before it is sent', async () => {
  const sandbox = await runningSandbox()
  const { bytes } = await rawCall(sandbox, '/v1/responses', {}, { 'content-length': 300_000_000 }).over
  expect(bytes).toMatch(/^HTTP\/1\.1 413 /)
  expect(sandbox.created()).toBe(0)
})

test('another process can read how many creations were accepted', async () => {
  const sandbox = await runningSandbox()
  await respond(sandbox, 'hi')
  await call(sandbox, generatePath, { contents })
  await respond(sandbox, 'hi', { temperature: 9 })
  const { json } = await call(sandbox, '/sandbox/stats', undefined, { headers: { authorization: '' } })
  expect(json.creations).toEqual({ total: 2, responses: 1, 'generate-content': 1 })
  expect([sandbox.created(), sandbox.created('responses')]).toEqual([2, 1])
  const answers = sandbox.requests().map(({ status, created }) => `${status} ${created}`)
  expect(answers).toEqual(['200 true', '200 true', '400 false'])
})

test('a port in use is a usage error with a way out', async () => {
  const sandbox = await runningSandbox()
  const port = Number(new URL(sandbox.url).port)
  const second = startSandbox({ port, clock: testContext().clock })
  await expect(second).rejects.toMatchObject({ exitCode: 2, code: 'usage' })
})

test('closing ends a request that is still streaming', async () => {
  const sandbox = await startSandbox({ clock: testContext().clock, latency: 'natural' })
  const waiting = fetch(`${sandbox.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: 'Bearer x' },
    body: '{"input":"hi","stream":true}',
  }).then((response) => response.text())
  await until(() => sandbox.created() > 0)
  await sandbox.close()
  await expect(waiting).rejects.toThrow('terminated')
})

test('the Google envelope lists every violation, the OpenAI one the first', async () => {
  const sandbox = await runningSandbox()
  const generationConfig = { topP: 2, candidateCount: 0 }
  const google = await call(sandbox, generatePath, { contents: [], generationConfig, colour: 'red' })
  expect(google.json.error.status).toBe('INVALID_ARGUMENT')
  const fields = google.json.error.details[0].fieldViolations.map(({ field }: Json) => field)
  expect(fields).toEqual(['contents', 'generationConfig.topP', 'generationConfig.candidateCount', 'colour'])
  // Also of a stream, under its content type.
  const stream = await call(sandbox, '/v1beta/models/sandbox-text:streamGenerateContent?alt=sse', {})
  expect([stream.status, stream.headers.get('content-type')]).toEqual([400, 'text/event-stream'])
  expect(stream.json.error.details[0].fieldViolations[0].field).toBe('contents')
  const openai = await call(sandbox, '/v1/responses', { top_p: 2, top_logprobs: 99 })
  const message = "Invalid 'top_logprobs': must be from 0 to 20, not 99."
  const error = { type: 'invalid_request_error', param: 'top_logprobs', code: 'invalid_value' }
  expect(openai.json.error).toEqual({ message, ...error })
  expect((await call(sandbox, '/v1/responses', { colour: 'red' })).json.error.param).toBe('colour')
})
