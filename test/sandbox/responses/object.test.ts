import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { call, eventsOf, respond, runningSandbox, type Json } from '../../support/running-sandbox.ts'

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
  const objects = [...events.map(({ response }) => response), json].filter(
    (value) => value?.object === 'response',
  )
  expect(objects.length).toBeGreaterThan(0)
  for (const object of objects) {
    expect(required.filter((name) => !(name in object))).toEqual([])
    const nulls = Object.keys(object).filter((name) => object[name] === null)
    expect(nulls.filter((name) => !nullable.has(name))).toEqual([])
  }
})

test('what the request says of itself is in the response', async () => {
  const said = {
    metadata: { run: '7' },
    prompt_cache_key: 'k',
    safety_identifier: 's',
    service_tier: 'scale',
    user: 'u',
    truncation: 'auto',
    parallel_tool_calls: false,
    max_tool_calls: 3,
    max_output_tokens: 500,
    top_logprobs: 2,
    temperature: 0.5,
    top_p: 0.5,
    text: { format: { type: 'text' }, verbosity: 'low' },
    reasoning: { effort: 'low', summary: 'auto' },
    tools: [{ type: 'web_search' }],
    tool_choice: 'none',
    store: false,
  }
  const { json } = await respond(await runningSandbox(), 'hi', said)
  expect(json).toMatchObject(said)
  const { json: plain } = await respond(await runningSandbox(), 'hi')
  for (const name of ['prompt_cache_key', 'safety_identifier', 'user', 'prompt', 'conversation']) {
    expect(plain).not.toHaveProperty(name)
  }
  expect(plain).toMatchObject({ service_tier: 'default', metadata: {}, tools: [], tool_choice: 'auto' })
})

test('a repeated beginning of 128 tokens and more counts as cached, apart for every prompt_cache_key', async () => {
  const sandbox = await runningSandbox()
  const long = 'x'.repeat(128 * 4 * 3)
  const cached = async (input: unknown, more: Json = {}) => {
    const { usage } = (await respond(sandbox, input, more)).json
    expect(usage.total_tokens).toBe(usage.input_tokens + usage.output_tokens)
    return usage.input_tokens_details.cached_tokens
  }
  expect(await cached(long)).toBe(0)
  expect(await cached(long)).toBe(384)
  expect(await cached(`${long}${'y'.repeat(5000)}`)).toBe(384)
  expect(await cached(`y${long}`)).toBe(0)
  expect(await cached(long, { instructions: 'Be brief' })).toBe(0)
  expect(await cached(long, { prompt_cache_key: 'a' })).toBe(0)
  expect(await cached(long, { prompt_cache_key: 'a' })).toBe(384)
  const history = [
    { role: 'user', content: long },
    { role: 'user', content: 'and?' },
  ]
  expect(await cached(history)).toBe(384)
})

test('the answer of a conversation is cached, too', async () => {
  const sandbox = await runningSandbox()
  const first = await respond(sandbox, 'sandbox:1000-words')
  const { json } = await respond(sandbox, 'next', { previous_response_id: first.json.id })
  const { input_tokens, input_tokens_details } = json.usage
  expect(input_tokens_details.cached_tokens).toBeGreaterThan(1000)
  expect(input_tokens_details.cached_tokens % 128).toBe(0)
  expect(input_tokens_details.cached_tokens).toBeLessThan(input_tokens)
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

test('the token limit leaves out calls that it has no room for', async () => {
  const { json } = await respond(await runningSandbox(), 'sandbox:code_interpreter', { max_output_tokens: 5 })
  expect(json).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })
  expect(json.output).toEqual([])
})

test('a picture in the conversation is read as one, not as its characters', async () => {
  const sandbox = await runningSandbox()
  const first = await respond(sandbox, 'A fox sandbox:image_generation')
  const { json } = await respond(sandbox, 'And now?', { previous_response_id: first.json.id })
  expect(json.usage.input_tokens).toBeLessThan(600)
})

test('the input of a response is listed, its pictures on request only', async () => {
  const sandbox = await runningSandbox()
  const client = new OpenAI({ baseURL: `${sandbox.url}/v1`, apiKey: 'any', maxRetries: 0 })
  const image_url = 'data:image/png;base64,iVBORw0KGgo='
  const picture = { type: 'input_image' as const, image_url, detail: 'auto' as const }
  const input = [
    { role: 'user' as const, content: [{ type: 'input_text' as const, text: 'sandbox:computer' }, picture] },
  ]
  const first = await client.responses.create({ input })
  const [action] = first.output
  if (action?.type !== 'computer_call') throw new Error('no computer call')
  const screenshot = { type: 'computer_screenshot' as const, image_url }
  const output = { type: 'computer_call_output' as const, call_id: action.call_id, output: screenshot }
  const second = await client.responses.create({ previous_response_id: first.id, input: [output] })
  const listed = async (include: OpenAI.Responses.ResponseIncludable[] = [], id = second.id) => {
    const items: Json[] = []
    for await (const item of client.responses.inputItems.list(id, { order: 'asc', include, limit: 2 })) {
      items.push(item)
    }
    return items
  }
  const plain = await listed()
  expect(plain.map(({ type }) => type)).toEqual(['message', 'computer_call', 'computer_call_output'])
  expect(new Set(plain.map(({ id }) => id)).size).toBe(3)
  expect([plain[0].content[1].image_url, plain[2].output.image_url]).toEqual([null, null])
  const full = await listed(['message.input_image.image_url', 'computer_call_output.output.image_url'])
  expect([full[0].content[1].image_url, full[2].output.image_url]).toEqual([image_url, image_url])
  const asked = await client.responses.create({ input, include: ['message.input_image.image_url'] })
  expect((await listed([], asked.id))[0].content[1].image_url).toBe(image_url)
  const newestFirst = await call(sandbox, `/v1/responses/${second.id}/input_items`)
  expect(newestFirst.json.data[0].type).toBe('computer_call_output')
  expect((await call(sandbox, '/v1/responses/resp_never/input_items')).status).toBe(404)
})

test('a text in the input is listed as a part', async () => {
  const sandbox = await runningSandbox()
  const input = [
    { role: 'assistant', content: 'Which?' },
    { role: 'user', content: 'The Danube' },
  ]
  const { json } = await respond(sandbox, input)
  const listed = await call(sandbox, `/v1/responses/${json.id}/input_items?order=asc`)
  expect(listed.json.data).toMatchObject([
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Which?' }] },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'The Danube' }] },
  ])
})

test('the documented fields of an error event are there, besides the recorded ones', async () => {
  const events = eventsOf(await respond(await runningSandbox(), 'sandbox:error', { stream: true }))
  const problem = { code: 'server_error', message: expect.any(String), param: null }
  expect(events.at(-2)).toMatchObject({
    type: 'error',
    ...problem,
    error: { type: 'server_error', ...problem },
  })
})

test('the same sandbox makes the same calls for a seed, another makes others', async () => {
  const bodyOf = async (seed: number) => {
    const { text } = await respond(await runningSandbox({ seed }), 'sandbox:web_search sandbox:mcp', {
      stream: true,
    })
    return text.replaceAll(/"(created|completed)_at":\d+/g, '')
  }
  expect(await bodyOf(4)).toBe(await bodyOf(4))
  expect(await bodyOf(4)).not.toBe(await bodyOf(5))
})
