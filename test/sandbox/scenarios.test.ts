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

/** What each scenario ends a response and a candidate with. */
const ends: readonly (readonly [name: string, response: object, candidate: object | undefined])[] = [
  [
    'refusal',
    { status: 'completed', output: [{ content: [{ type: 'refusal', refusal: expect.any(String) }] }] },
    {
      finishReason: 'SAFETY',
      safetyRatings: expect.arrayContaining([expect.objectContaining({ blocked: true })]),
    },
  ],
  ['block', { status: 'incomplete', incomplete_details: { reason: 'content_filter' } }, undefined],
  [
    'length',
    { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
    { finishReason: 'MAX_TOKENS' },
  ],
  ['empty', { status: 'completed', output: [] }, { content: { role: 'model' }, finishReason: 'STOP' }],
  ['failure', { status: 'failed', error: { code: 'server_error' }, output: [] }, { finishReason: 'OTHER' }],
]
const cases = ends.flatMap((end) => ways.map((way) => [end[0], way[0], way[1], end[1], end[2]] as const))

test.for(cases)('%s by %s', async ([name, , way, response, candidate]) => {
  const last = (await responseEvents(name, way)).at(-1)!
  expect(last).toMatchObject({ type: `response.${last.response.status}`, response })
  expect((await chunksOf(name, way)).at(-1)).toMatchObject(
    candidate === undefined
      ? { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }
      : { candidates: [candidate] },
  )
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

test('a content-generation stream breaks off with a bare error object', async () => {
  const sandbox = await runningSandbox()
  const events = await generate(sandbox, 'hi', {}, 'sandbox-error')
  const bare = events.text.slice(events.text.lastIndexOf('\r\n\r\n') + 4)
  expect(JSON.parse(bare).error).toMatchObject({ code: 500, status: 'INTERNAL' })
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
