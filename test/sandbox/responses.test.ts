import { expect, test } from 'vitest'
import { eventsOf, respond, runningSandbox, type Json } from '../support/running-sandbox.ts'

const textOf = ({ output }: Json): string =>
  output
    .flatMap((item: Json) => item.content ?? [])
    .map((part: Json) => part.text ?? '')
    .join('')

test('a text quotes the prompt, and the reply has the id of the request', async () => {
  const { json, headers } = await respond(await runningSandbox(), 'Name a river')
  expect(textOf(json)).toMatch(/^\[sandbox\] You asked: “Name a river”\./)
  expect(headers.get('x-request-id')).toMatch(/^req_/)
})

test('a text stream has every event in order, numbered from 0, LF, without [DONE]', async () => {
  const sandbox = await runningSandbox()
  const answer = await respond(sandbox, 'Name a river', { stream: true })
  expect(answer.text).toMatch(/^(event: (\S+)\ndata: \{"type":"\2".*\}\n\n)+$/)
  const events = eventsOf(answer)
  expect(events.map((event) => event.sequence_number)).toEqual([...events.keys()])
  expect([...new Set(events.map(({ type }) => type))]).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ])
  const deltas = events.filter((event) => event.type === 'response.output_text.delta')
  const done = events.find((event) => event.type === 'response.output_text.done')
  expect(deltas.map((event) => event.delta).join('')).toBe(done.text)
  const { response } = events.at(-1)
  expect(textOf(response)).toBe(done.text)
  expect(events.slice(0, -1).every((event) => event.response?.usage == null)).toBe(true)
  expect(response.usage.output_tokens).toBe(deltas.length)
})

test('reasoning is an item without a summary, unless one is asked for', async () => {
  const { json } = await respond(await runningSandbox(), 'Think', { reasoning: { effort: 'low' } })
  expect(json.output[0]).toEqual({ id: expect.any(String), type: 'reasoning', summary: [] })
})

test('the token limit makes a response incomplete, and may leave it without any text', async () => {
  const sandbox = await runningSandbox()
  const events = eventsOf(await respond(sandbox, 'Long', { stream: true, max_output_tokens: 5 }))
  const ended = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
  expect(events.at(-1)).toMatchObject({
    type: 'response.incomplete',
    response: { ...ended, usage: { output_tokens: 5 }, output: [{ status: 'incomplete' }] },
  })
  const none = await respond(sandbox, 'Long', { max_output_tokens: 3, reasoning: { effort: 'low' } })
  expect([none.json.status, textOf(none.json)]).toEqual(['incomplete', ''])
  // There is no room for calls, either.
  const { json } = await respond(sandbox, 'sandbox:code_interpreter', { max_output_tokens: 5 })
  expect(json).toMatchObject({ ...ended, output: [] })
})

test('log probabilities come for every token, with as many alternatives as asked', async () => {
  const sandbox = await runningSandbox()
  const more = { stream: true, top_logprobs: 2, include: ['message.output_text.logprobs'] }
  const events = eventsOf(await respond(sandbox, 'hi', more))
  const deltas = events.filter((event) => event.type === 'response.output_text.delta')
  for (const { delta, logprobs } of deltas) {
    expect(logprobs[0]).toMatchObject({ token: delta, bytes: [...Buffer.from(delta)] })
    expect(logprobs[0].top_logprobs).toHaveLength(2)
    expect(logprobs[0].logprob).toBeLessThanOrEqual(0)
  }
  expect(events.at(-1).response.output[0].content[0].logprobs).toHaveLength(deltas.length)
})

/** Of the response object: the required fields, and those that may be null (specification, Resources). */
const required = [
  'id', 'object', 'created_at', 'error', 'incomplete_details', 'instructions', 'metadata', 'model', 'output',
  'parallel_tool_calls', 'temperature', 'top_p', 'tools', 'tool_choice',
] // prettier-ignore
const nullable = new Set([
  'error', 'incomplete_details', 'instructions', 'output_text', 'temperature', 'top_p', 'top_logprobs',
  'previous_response_id', 'background', 'max_output_tokens', 'max_tool_calls', 'truncation',
]) // prettier-ignore

const bodies: readonly Json[] = [
  {},
  { background: true },
  { stream: true },
  { stream: true, background: true },
  { stream: true, parallel_tool_calls: null, background: null, truncation: null, temperature: null },
  { input: 'sandbox:failure', stream: true },
  { input: 'sandbox:length' },
  { input: 'sandbox:error', stream: true },
  {
    instructions: null, previous_response_id: null, temperature: null, top_p: null, background: null,
    max_output_tokens: null, max_tool_calls: null, truncation: null, include: null, parallel_tool_calls: null,
    store: null, stream: null, reasoning: { effort: null, summary: null },
  },
] // prettier-ignore

test.for(bodies)('no response object lacks a field or has a null that is not allowed: %j', async (body) => {
  const { json, text } = await respond(await runningSandbox(), 'hi', body)
  const events = text.startsWith('event:') ? eventsOf({ text }) : []
  const all = [...events.map(({ response }) => response), json]
  const objects = all.filter((value) => value?.object === 'response')
  expect(objects.length).toBeGreaterThan(0)
  for (const object of objects) {
    expect(required.filter((name) => !(name in object))).toEqual([])
    const nulls = Object.keys(object).filter((name) => object[name] === null)
    expect(nulls.filter((name) => !nullable.has(name))).toEqual([])
  }
})

test('usage counts the calls of tools and the reasoning', async () => {
  const sandbox = await runningSandbox()
  const body = { reasoning: { effort: 'low' }, stream: true }
  const events = eventsOf(await respond(sandbox, 'sandbox:code_interpreter', body))
  const { usage } = events.at(-1).response
  const deltas = events.filter(({ type }) => type.endsWith('.delta')).length
  expect(usage.output_tokens_details.reasoning_tokens).toBeGreaterThan(0)
  expect(usage.output_tokens).toBe(deltas + usage.output_tokens_details.reasoning_tokens)
})

test('a picture in the conversation is read as one, not as its characters', async () => {
  const sandbox = await runningSandbox()
  const first = await respond(sandbox, 'A fox sandbox:image_generation')
  const { json } = await respond(sandbox, 'And now?', { previous_response_id: first.json.id })
  expect(json.usage.input_tokens).toBeLessThan(600)
})
