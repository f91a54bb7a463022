import { expect, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import {
  call,
  eventsOf,
  generate,
  rawCall,
  respond,
  runningSandbox,
  until,
  type Json,
} from '../support/running-sandbox.ts'

const header = (scenario: string) => ({ headers: { 'x-sandbox-scenario': scenario } })
const lastCandidate = (chunks: readonly Json[]) => chunks.at(-1)!.candidates.at(-1)

/** Each scenario can be asked for by the model's name, by a header, and by a word of the prompt. */
const ways = [
  ['model', (name: string) => ({ model: `sandbox-${name}`, prompt: 'hi', headers: {} })],
  ['header', (name: string) => ({ model: 'any', prompt: 'hi', ...header(name) })],
  ['prompt', (name: string) => ({ model: 'any', prompt: `hi sandbox:${name}`, headers: {} })],
] as const

async function chunksOf(scenario: string, way: (typeof ways)[number][1]): Promise<Json[]> {
  const { model, prompt, headers } = way(scenario)
  const sandbox = await runningSandbox()
  const body = { contents: [{ parts: [{ text: prompt }] }] }
  return eventsOf(
    await call(sandbox, `/v1beta/models/${model}:streamGenerateContent?alt=sse`, body, { headers }),
  )
}

async function responseEvents(scenario: string, way: (typeof ways)[number][1]): Promise<Json[]> {
  const { model, prompt, headers } = way(scenario)
  const sandbox = await runningSandbox()
  return eventsOf(await call(sandbox, '/v1/responses', { model, input: prompt, stream: true }, { headers }))
}

test.for(ways)('refusal by %s', async ([, way]) => {
  const events = await responseEvents('refusal', way)
  const { response } = events.at(-1)!
  expect(response.status).toBe('completed')
  const [part] = response.output[0].content
  expect(part.type).toBe('refusal')
  const deltas = events.filter((event) => event.type === 'response.refusal.delta')
  expect(deltas.map((event) => event.delta).join('')).toBe(part.refusal)
  expect(events.find((event) => event.type === 'response.refusal.done')!.refusal).toBe(part.refusal)
  const candidate = lastCandidate(await chunksOf('refusal', way))
  expect(candidate.finishReason).toBe('SAFETY')
  expect(candidate.safetyRatings).toContainEqual(expect.objectContaining({ blocked: true }))
})

test.for(ways)('block by %s', async ([, way]) => {
  const chunks = await chunksOf('block', way)
  expect(chunks).toHaveLength(1)
  expect(chunks[0].candidates).toBeUndefined()
  expect(chunks[0].promptFeedback.blockReason).toBe('PROHIBITED_CONTENT')
  const { type, response } = (await responseEvents('block', way)).at(-1)!
  expect(type).toBe('response.incomplete')
  expect(response.incomplete_details).toEqual({ reason: 'content_filter' })
})

test.for(ways)('length by %s', async ([, way]) => {
  expect(lastCandidate(await chunksOf('length', way)).finishReason).toBe('MAX_TOKENS')
  const { response } = (await responseEvents('length', way)).at(-1)!
  expect(response.incomplete_details).toEqual({ reason: 'max_output_tokens' })
})

test.for(ways)('empty by %s', async ([, way]) => {
  const candidate = lastCandidate(await chunksOf('empty', way))
  expect(candidate).toMatchObject({ content: { role: 'model' }, finishReason: 'STOP' })
  expect(candidate.content.parts).toBeUndefined()
  const { response } = (await responseEvents('empty', way)).at(-1)!
  expect(response).toMatchObject({ status: 'completed', output: [] })
})

test.for(ways)('failure by %s', async ([, way]) => {
  expect(lastCandidate(await chunksOf('failure', way)).finishReason).toBe('OTHER')
  const events = await responseEvents('failure', way)
  expect(events.at(-1)).toMatchObject({
    type: 'response.failed',
    response: { status: 'failed', error: { code: 'server_error' }, output: [] },
  })
})

test.for(ways)('error by %s, in mid-stream and in the recorded wire form', async ([, way]) => {
  const events = await responseEvents('error', way)
  expect(events.slice(-2)).toMatchObject([
    { type: 'error', error: { code: 'server_error' } },
    { type: 'response.failed', response: { status: 'failed' } },
  ])
  expect(events.filter((event) => event.type.endsWith('.delta'))).toHaveLength(5)
  expect(events.map((event) => event.sequence_number)).toEqual([...events.keys()])
  const chunks = await chunksOf('error', way)
  expect(chunks).toHaveLength(5)
  expect(lastCandidate(chunks).finishReason).toBeUndefined()
})

test('a content-generation stream breaks off with a bare error object, the array with an error entry', async () => {
  const sandbox = await runningSandbox()
  const events = await generate(sandbox, 'hi', {}, 'sandbox-error')
  const bare = events.text.slice(events.text.lastIndexOf('\r\n\r\n') + 4)
  expect(JSON.parse(bare).error).toMatchObject({ code: 500, status: 'INTERNAL' })
  const body = { contents: [{ parts: [{ text: 'hi' }] }] }
  const array = await call(sandbox, '/v1beta/models/sandbox-error:streamGenerateContent?alt=json', body)
  expect(array.json.at(-1).error.code).toBe(500)
})

test('error without a stream is 500 and creates nothing', async () => {
  const sandbox = await runningSandbox()
  const openai = await respond(sandbox, 'hi', { model: 'sandbox-error' })
  expect([openai.status, openai.json.error.type]).toEqual([500, 'server_error'])
  const google = await call(sandbox, '/v1beta/models/sandbox-error:generateContent', {
    contents: [{ parts: [{ text: 'hi' }] }],
  })
  expect([google.status, google.json.error.status]).toEqual([500, 'INTERNAL'])
  expect(sandbox.created()).toBe(0)
})

test('long writes thousands of events', async () => {
  const sandbox = await runningSandbox()
  expect(eventsOf(await generate(sandbox, 'hi', {}, 'sandbox-long')).length).toBeGreaterThan(5000)
  const events = eventsOf(await respond(sandbox, 'hi', { model: 'sandbox-long', stream: true }))
  expect(events.length).toBeGreaterThan(5000)
})

test('natural pacing waits for the first token and then from token to token; none does not wait', async () => {
  const clock = fakeClock()
  const sandbox = await runningSandbox({ clock, latency: 'natural' })
  const waiting = rawCall(sandbox, '/v1/responses', { input: 'hi', stream: true })
  await until(() => waiting.bytes.includes('content_part.added'))
  expect(waiting.bytes).not.toContain('output_text.delta')
  // The longest first pause is 210 ms, then come 28 ms at most.
  await clock.advance(210)
  await until(() => waiting.bytes.includes('output_text.delta'))
  const before = waiting.bytes.split('event: response.output_text.delta').length
  await clock.advance(28)
  await until(() => waiting.bytes.split('event: response.output_text.delta').length > before)
  expect(waiting.bytes).not.toContain('response.completed')
  await clock.advance(20_000)
  expect((await waiting.over).bytes).toContain('response.completed')
})

test('a client that leaves stops the writing', async () => {
  const clock = fakeClock()
  const sandbox = await runningSandbox({ clock, latency: 'natural' })
  const leaving = new AbortController()
  const response = await fetch(`${sandbox.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: 'Bearer x' },
    body: '{"input":"hi","stream":true}',
    signal: leaving.signal,
  })
  await until(() => clock.pendingTimers === 1)
  leaving.abort()
  await expect(response.text()).rejects.toThrow('aborted')
  await until(() => clock.pendingTimers === 0)
  expect(sandbox.created()).toBe(1)
})
