import OpenAI, { AuthenticationError, NotFoundError } from 'openai'
import { expect, test } from 'vitest'
import { all, openaiClient, place } from './all.ts'

test('text', async () => {
  const { client } = await openaiClient()
  const response = await client.responses.create({ model: 'sandbox-text', input: 'Name a river' })
  expect(response.output_text).toContain('“Name a river”')
  expect(response.usage!.total_tokens).toBeGreaterThan(0)
})

test('streams, raw and accumulated', async () => {
  const { client } = await openaiClient()
  const reasoning = { effort: 'low', summary: 'auto' } as const
  const request = { model: 'sandbox-text', input: 'Name a river', reasoning }
  let text = ''
  for await (const event of await client.responses.create({ ...request, stream: true })) {
    if (event.type === 'response.output_text.delta') text += event.delta
  }
  // A repeated request has another answer; the first answers of two sandboxes are the same.
  const { client: other } = await openaiClient()
  const final = await other.responses.stream(request).finalResponse()
  expect(final.output_text).toBe(text)
  expect(final.output.map(({ type }) => type)).toEqual(['reasoning', 'message'])
})

test('idempotency keys', async () => {
  const { client, sandbox } = await openaiClient()
  // The client's own option for it sends nothing.
  const ask = (key: string, input = 'Name a river') =>
    client.responses.create({ model: 'sandbox-text', input }, { headers: { 'Idempotency-Key': key } })
  const first = await ask('key-1')
  expect((await ask('key-1')).id).toBe(first.id)
  expect((await ask('key-2')).output_text).not.toBe(first.output_text)
  await expect(ask('key-1', 'Name a lake')).rejects.toMatchObject({ code: 'idempotency_key_reused' })
  expect(sandbox.created()).toBe(2)
})

test('structured output, whole and streamed', async () => {
  const { client } = await openaiClient()
  const text = { format: { type: 'json_schema' as const, name: 'place', schema: place, strict: true } }
  const parsed = await client.responses.parse({ model: 'sandbox-text', input: 'Invent', text })
  expect(parsed.output_parsed).toMatchObject({ city: expect.any(String) })
  const stream = client.responses.stream({ model: 'sandbox-text', input: 'Invent', text })
  expect(JSON.parse((await stream.finalResponse()).output_text)).toMatchObject({ city: expect.any(String) })
})

test('function tools', async () => {
  const { client } = await openaiClient()
  const tools = [{ type: 'function' as const, name: 'get_weather', parameters: place, strict: true }]
  const first = await client.responses.create({ model: 'sandbox-text', input: 'get_weather please', tools })
  const [call] = first.output
  expect(call).toMatchObject({ type: 'function_call', arguments: expect.stringMatching(/^\{"city":/) })
  const { call_id } = call as OpenAI.Responses.ResponseFunctionToolCall
  const second = await client.responses.create({
    model: 'sandbox-text',
    previous_response_id: first.id,
    input: [{ type: 'function_call_output', call_id, output: 'clear sky' }],
    tools,
  })
  expect(second.output_text).toContain('clear sky')
})

test.each([
  ['web search', 'web_search', 'web_search_call'],
  ['file search', 'file_search', 'file_search_call'],
  ['code interpreter', 'code_interpreter', 'code_interpreter_call'],
  ['image generation', 'image_generation', 'image_generation_call'],
  ['remote tools', 'mcp', 'mcp_call'],
  ['approval of remote tools', 'approval', 'mcp_approval_request'],
  ['a computer', 'computer', 'computer_call'],
  ['a local shell', 'local_shell', 'local_shell_call'],
  ['custom tools', 'custom', 'custom_tool_call'],
])('%s', async (_, scenario, type) => {
  const { client } = await openaiClient()
  const stream = client.responses.stream({ model: 'sandbox-text', input: `sandbox:${scenario}` })
  const { id, output } = await stream.finalResponse()
  expect(output.map((item) => item.type)).toContain(type)
  const stored = await client.responses.retrieve(id)
  expect(output.map((item) => item.id)).toEqual(stored.output.map((item) => item.id))
})

test('background responses, retrieved, cancelled', async () => {
  const { client } = await openaiClient()
  const queued = await client.responses.create({ model: 'sandbox-text', input: 'hi', background: true })
  expect(queued.status).toBe('queued')
  expect((await client.responses.retrieve(queued.id)).id).toBe(queued.id)
  expect((await client.responses.cancel(queued.id)).status).toBe('cancelled')
  await expect(client.responses.retrieve('resp_never')).rejects.toBeInstanceOf(NotFoundError)
})

test('background streams, taken up again', async () => {
  const { client } = await openaiClient()
  const request = { model: 'sandbox-text', input: 'hi', background: true, stream: true } as const
  const whole = await all(await client.responses.create(request))
  const { id } = (whole[0] as OpenAI.Responses.ResponseCreatedEvent).response
  const rest = await all(await client.responses.retrieve(id, { stream: true, starting_after: 7 }))
  expect(rest).toEqual(whole.slice(8))
  expect(rest.at(-1)!.type).toBe('response.completed')
})

test('background streams, accumulated', async () => {
  const { client } = await openaiClient()
  const started = await client.responses.create({ model: 'sandbox-text', input: 'hi', background: true })
  const stream = client.responses.stream({ response_id: started.id, starting_after: 6 })
  const first = (await all(stream))[0]!
  expect([first.sequence_number, (await stream.finalResponse()).status]).toEqual([7, 'completed'])
})

test('errors with class, code and parameter', async () => {
  const { client, sandbox } = await openaiClient()
  const invalid = client.responses.create({ model: 'm', input: 'hi', temperature: 3 })
  await expect(invalid).rejects.toMatchObject({ status: 400, param: 'temperature', code: 'invalid_value' })
  const stranger = new OpenAI({ baseURL: `${sandbox.url}/v1`, apiKey: 'invalid', maxRetries: 0 })
  await expect(stranger.models.list()).rejects.toBeInstanceOf(AuthenticationError)
  const broken = await client.responses.create({ model: 'sandbox-error', input: 'hi', stream: true })
  await expect(all(broken)).rejects.toThrow('Generation broke off')
})

test('its own retries', async () => {
  const faults = [{ action: 'status', status: 429, attempt: 1, headers: { 'retry-after-ms': '1' } }] as const
  const { sandbox } = await openaiClient({ faults })
  const client = new OpenAI({ baseURL: `${sandbox.url}/v1`, apiKey: 'any' })
  expect((await client.responses.create({ model: 'm', input: 'hi' })).status).toBe('completed')
  expect([sandbox.requests().length, sandbox.created()]).toEqual([2, 1])
})

test.each([
  ['service tiers but default and scale', { service_tier: 'flex' }, 'service_tier'],
  ['prompt_cache_retention', { prompt_cache_retention: '24h' }, 'prompt_cache_retention'],
  ['a conversation of null', { conversation: null }, 'conversation'],
] as const)('%s: refused', async (_, more, param) => {
  const { client } = await openaiClient()
  const asked = client.responses.create({ model: 'sandbox-text', input: 'hi', ...more })
  await expect(asked).rejects.toMatchObject({ status: 400, param })
})

test.each([
  ['chat completions', (client: OpenAI) => client.chat.completions.create({ model: 'm', messages: [] })],
  ['conversations', (client: OpenAI) => client.conversations.create()],
  ['token counts', (client: OpenAI) => client.responses.inputTokens.count({ input: 'hi' })],
  ['compaction', (client: OpenAI) => client.responses.compact({ model: 'gpt-5.2', input: 'hi' })],
  ['embeddings', (client: OpenAI) => client.embeddings.create({ model: 'm', input: 'hi' })],
  ['audio', (client: OpenAI) => client.audio.speech.create({ model: 'm', voice: 'alloy', input: 'hi' })],
  ['files', (client: OpenAI) => client.files.list()],
  ['vector stores', (client: OpenAI) => client.vectorStores.list()],
  ['moderations', (client: OpenAI) => client.moderations.create({ input: 'hi' })],
  ['batches', (client: OpenAI) => client.batches.list()],
])('%s: not offered', async (_, ask) => {
  const { client } = await openaiClient()
  await expect(ask(client)).rejects.toMatchObject({ status: 404, type: 'invalid_request_error' })
})

test('models', async () => {
  const { client } = await openaiClient()
  const ids: string[] = []
  for await (const model of client.models.list()) ids.push(model.id)
  const some = ['sandbox-text', 'image-model-a', 'video-model-remix', 'dall-e-2']
  expect(ids).toEqual(expect.arrayContaining(some))
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids) expect(await client.models.retrieve(id)).toMatchObject({ id, object: 'model' })
  await expect(client.models.retrieve('gpt-image-9')).rejects.toMatchObject({ code: 'model_not_found' })
})
