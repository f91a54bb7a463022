import { readFileSync } from 'node:fs'
import type { ResponseStreamEvent } from 'openai/resources/responses/responses'
import { expect, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { projectRoot } from '../support/generated-files.ts'
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
import { all, openaiClient } from './clients/all.ts'

const page = readFileSync(new URL('docs/sandbox.md', projectRoot), 'utf8')
const [ofResponses = '', ofContent = ''] = page.split('\n## Content generation')

/** The rows of a table of scenarios: each word, and what the other cells list of it. */
function rowsOf(page: string) {
  const rows = [...page.matchAll(/^\| (`sandbox:.*?) +\| (.*) \|$/gm)].flatMap(([, words, others]) => {
    const cells = others!
      .split('|')
      .map((cell) => (cell.includes('the one named') ? ['named'] : codeIn(cell)))
    return codeIn(words!).map((code) => ({ word: code.slice('sandbox:'.length), cells }))
  })
  expect(rows.length).toBeGreaterThan(20)
  expect(new Set(rows.map(({ word }) => word)).size).toBe(rows.length)
  return rows
}

function codeIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code!)
}

/** `.done` after `refusal.delta` is `refusal.done`. */
function wholeNames(names: readonly string[]): string[] {
  let before = ''
  return names.map((name) => {
    const whole = name.startsWith('.') ? before + name : name
    before = whole.slice(0, Math.max(0, whole.lastIndexOf('.')))
    return whole
  })
}

// The page says that nearly every stream has these.
const usualEvents = new Set(
  `created in_progress output_item.added output_item.done content_part.added content_part.done
  output_text.delta output_text.done completed`.split(/\s+/),
)
const usualFields = new Set(
  `content index finishReason tokenCount candidates usageMetadata modelVersion responseId`.split(' '),
)

test.for(rowsOf(ofResponses))(
  'a response to sandbox:$word has the items and events of the page',
  async ({ word, cells: [items, events] }) => {
    const body = { input: `Rivers sandbox:${word}` }
    // The official client checks the order of events.
    const stream = (await openaiClient()).client.responses.stream(body as never)
    const seen = (await all(stream)) as ResponseStreamEvent[]
    const final = await stream.finalResponse()
    expect(final.output.map(({ type }) => type)).toEqual(items)
    const names = [...new Set(seen.map(({ type }) => type.replace('response.', '')))]
    expect(names.filter((name) => !usualEvents.has(name))).toEqual(wholeNames(events!))
    expect(seen.map(({ sequence_number }) => sequence_number)).toEqual([...seen.keys()])
    expect(seen[0]).toMatchObject({ response: { id: final.id } })
    const whole = await (await openaiClient()).client.responses.create(body)
    expect(whole.output.map(({ type }) => type)).toEqual(items)
  },
)

test.for(rowsOf(ofContent))(
  'content for sandbox:$word is as the page says',
  async ({ word, cells: [reasons, parts, fields] }) => {
    const name = word.split(':')[0]!
    const tools = /^[a-z]+[A-Z]/.test(name) ? [{ [name]: {} }] : []
    const prompt = `Read https://example.com sandbox:${word}`
    const chunks = eventsOf(await generate(await runningSandbox(), prompt, { tools }))
    const candidates: Json[] = chunks.flatMap((chunk) => chunk.candidates ?? [])
    const kinds = candidates
      .flatMap(({ content }) => content.parts ?? [])
      .map((part) => Object.keys(part)[0]!)
    const names = new Set([...chunks, ...candidates].flatMap((value) => Object.keys(value)))
    expect({
      reasons: candidates.flatMap(({ finishReason }) => finishReason ?? []),
      parts: [...new Set(kinds)],
      fields: [...names].filter((field) => !usualFields.has(field)).toSorted(),
    }).toEqual({ reasons: reasons![0] === 'named' ? [word] : reasons, parts, fields: fields!.toSorted() })
  },
)

/** A scenario can be asked for by the model's name, by a header, and by a word of the prompt. */
test.for([
  ['model', { model: 'sandbox-error' }],
  ['header', { headers: { 'x-sandbox-scenario': 'error' } }],
  ['prompt', { prompt: 'hi sandbox:error' }],
] as const)('error by %s, in mid-stream and in the recorded wire form', async ([, way]) => {
  const { model, prompt, headers } = { model: 'any', prompt: 'hi', headers: {}, ...way }
  const sandbox = await runningSandbox()
  const response = { model, input: prompt, stream: true }
  const events = eventsOf(await call(sandbox, '/v1/responses', response, { headers }))
  expect(events.slice(-2)).toMatchObject([
    { type: 'error', error: { code: 'server_error' } },
    { type: 'response.failed', response: { status: 'failed' } },
  ])
  expect(events.filter((event) => event.type.endsWith('.delta'))).toHaveLength(5)
  expect(events.map((event) => event.sequence_number)).toEqual([...events.keys()])
  const path = `/v1beta/models/${model}:streamGenerateContent`
  const answer = await call(sandbox, path, { contents: [{ parts: [{ text: prompt }] }] }, { headers })
  const chunks = eventsOf(answer)
  expect(chunks).toHaveLength(5)
  expect(chunks.at(-1)!.candidates[0].finishReason).toBeUndefined()
  // It breaks off with a bare error object.
  const bare = answer.text.slice(answer.text.lastIndexOf('\r\n\r\n') + 4)
  expect(JSON.parse(bare).error).toMatchObject({ code: 500, status: 'INTERNAL' })
})

test('how a response ends is told with it', async () => {
  const refusal = { type: 'refusal', refusal: expect.any(String) }
  const ends: readonly (readonly [name: string, end: Json])[] = [
    ['refusal', { status: 'completed', output: [{ content: [refusal] }] }],
    ['block', { status: 'incomplete', incomplete_details: { reason: 'content_filter' } }],
    ['length', { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }],
    ['failure', { status: 'failed', error: { code: 'server_error' }, output: [] }],
  ]
  for (const [name, end] of ends) {
    const { json } = await respond(await runningSandbox(), 'hi', { model: `sandbox-${name}` })
    expect(json).toMatchObject(end)
  }
})

test('error without a stream is 500 and creates nothing', async () => {
  const sandbox = await runningSandbox()
  const openai = await respond(sandbox, 'hi', { model: 'sandbox-error' })
  expect([openai.status, openai.json.error.type]).toEqual([500, 'server_error'])
  const contents = [{ parts: [{ text: 'hi' }] }]
  const google = await call(sandbox, '/v1beta/models/sandbox-error:generateContent', { contents })
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
  const headers = { authorization: 'Bearer x' }
  const request = { method: 'POST', headers, body: '{"input":"hi","stream":true}', signal: leaving.signal }
  const response = await fetch(`${sandbox.url}/v1/responses`, request)
  await until(() => clock.pendingTimers === 1)
  leaving.abort()
  await expect(response.text()).rejects.toThrow('aborted')
  await until(() => clock.pendingTimers === 0)
  expect(sandbox.created()).toBe(1)
})
