import { ApiError, FunctionCallingConfigMode, GoogleGenAI, Type } from '@google/genai'
import OpenAI, { AuthenticationError, NotFoundError } from 'openai'
import { expect, test } from 'vitest'
import { runningSandbox } from '../support/running-sandbox.ts'

const parameters = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}

async function openaiClient(options = {}) {
  const sandbox = await runningSandbox(options)
  const client = new OpenAI({ baseURL: `${sandbox.url}/v1`, apiKey: 'any', maxRetries: 0 })
  return { sandbox, client }
}

async function googleClient(options = {}) {
  const sandbox = await runningSandbox(options)
  const client = new GoogleGenAI({ apiKey: 'any', httpOptions: { baseUrl: sandbox.url } })
  return { sandbox, client }
}

async function allOf<Value>(stream: AsyncIterable<Value>): Promise<Value[]> {
  const values: Value[] = []
  for await (const value of stream) values.push(value)
  return values
}

test('openai: a whole response', async () => {
  const { client } = await openaiClient()
  const response = await client.responses.create({ model: 'sandbox-text', input: 'Name a river' })
  expect(response.output_text).toContain('“Name a river”')
  expect(response.usage!.total_tokens).toBeGreaterThan(0)
})

test('openai: a raw stream and the accumulating stream agree', async () => {
  const { client } = await openaiClient()
  const request = {
    model: 'sandbox-text',
    input: 'Name a river',
    reasoning: { effort: 'low', summary: 'auto' },
  } as const
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

test('openai: an idempotency key creates one response', async () => {
  const { client, sandbox } = await openaiClient()
  // The client's own option for it sends nothing.
  const ask = (key: string, input = 'Name a river') =>
    client.responses.create({ model: 'sandbox-text', input }, { headers: { 'Idempotency-Key': key } })
  const first = await ask('key-1')
  expect((await ask('key-1')).id).toBe(first.id)
  expect((await ask('key-2')).output_text).not.toBe(first.output_text)
  await expect(ask('key-1', 'Name a lake')).rejects.toMatchObject({
    status: 400,
    code: 'idempotency_key_reused',
  })
  expect(sandbox.created()).toBe(2)
})

test('openai: structured output is parsed, whole and streamed', async () => {
  const { client } = await openaiClient()
  const text = { format: { type: 'json_schema' as const, name: 'place', schema: parameters, strict: true } }
  const parsed = await client.responses.parse({ model: 'sandbox-text', input: 'Invent', text })
  expect(parsed.output_parsed).toMatchObject({ city: expect.any(String) })
  const streamed = await client.responses
    .stream({ model: 'sandbox-text', input: 'Invent', text })
    .finalResponse()
  expect(JSON.parse(streamed.output_text)).toMatchObject({ city: expect.any(String) })
})

test('openai: a whole tool loop', async () => {
  const { client } = await openaiClient()
  const tools = [{ type: 'function' as const, name: 'get_weather', parameters, strict: true }]
  const first = await client.responses.create({ model: 'sandbox-text', input: 'get_weather please', tools })
  const [call] = first.output
  if (call?.type !== 'function_call') throw new Error('no function call')
  expect(JSON.parse(call.arguments)).toMatchObject({ city: expect.any(String) })
  const second = await client.responses.create({
    model: 'sandbox-text',
    previous_response_id: first.id,
    input: [{ type: 'function_call_output', call_id: call.call_id, output: 'clear sky' }],
    tools,
  })
  expect(second.output_text).toContain('clear sky')
})

test('openai: background, retrieve, cancel, delete', async () => {
  const { client } = await openaiClient()
  const queued = await client.responses.create({ model: 'sandbox-text', input: 'hi', background: true })
  expect(queued.status).toBe('queued')
  expect((await client.responses.retrieve(queued.id)).id).toBe(queued.id)
  expect((await client.responses.cancel(queued.id)).status).toBe('cancelled')
  await client.responses.delete(queued.id)
  await expect(client.responses.retrieve(queued.id)).rejects.toBeInstanceOf(NotFoundError)
})

test('openai: a background stream is taken up again behind an event', async () => {
  const { client } = await openaiClient()
  const request = { model: 'sandbox-text', input: 'hi', background: true, stream: true } as const
  const whole = await allOf(await client.responses.create(request))
  if (whole[0]?.type !== 'response.queued') throw new Error('not queued')
  const { id } = whole[0].response
  const rest = await allOf(await client.responses.retrieve(id, { stream: true, starting_after: 7 }))
  expect(rest).toEqual(whole.slice(8))
  expect(whole.at(-1)!.type).toBe('response.completed')
  const ended = await client.responses.retrieve(id)
  expect(ended.status).toBe('completed')
  expect((await client.responses.cancel(id)).status).toBe('completed')
})

test('openai: errors have their classes, codes and parameters', async () => {
  const { client, sandbox } = await openaiClient()
  const invalid = client.responses.create({ model: 'm', input: 'hi', temperature: 3 })
  await expect(invalid).rejects.toMatchObject({ status: 400, param: 'temperature', code: 'invalid_value' })
  const stranger = new OpenAI({ baseURL: `${sandbox.url}/v1`, apiKey: 'invalid', maxRetries: 0 })
  await expect(stranger.responses.create({ model: 'm', input: 'hi' })).rejects.toBeInstanceOf(
    AuthenticationError,
  )
  const broken = await client.responses.create({ model: 'sandbox-error', input: 'hi', stream: true })
  await expect(allOf(broken)).rejects.toThrow('Generation broke off')
})

test('openai: retries a 429 by itself and creates once', async () => {
  const faults = [{ action: 'status', status: 429, attempt: 1, headers: { 'retry-after-ms': '1' } }] as const
  const { sandbox } = await openaiClient({ faults })
  const client = new OpenAI({ baseURL: `${sandbox.url}/v1`, apiKey: 'any' })
  expect((await client.responses.create({ model: 'm', input: 'hi' })).status).toBe('completed')
  expect([sandbox.requests().length, sandbox.created()]).toEqual([2, 1])
})

test('openai: lists the models', async () => {
  const { client } = await openaiClient()
  const models = await allOf(client.models.list())
  expect(models.map(({ id }) => id)).toContain('sandbox-text')
})

test.for(['v1', 'v1beta'])('google: a whole reply and its stream agree (%s)', async (apiVersion) => {
  const sandbox = await runningSandbox()
  const client = new GoogleGenAI({ apiKey: 'any', httpOptions: { baseUrl: sandbox.url, apiVersion } })
  const request = { model: 'sandbox-text', contents: 'Name a river' }
  const whole = await client.models.generateContent(request)
  expect(whole.text).toContain('“Name a river”')
  const chunks = await allOf(await client.models.generateContentStream(request))
  expect(chunks.map((chunk) => chunk.text ?? '').join('')).toBe(whole.text)
  expect(chunks.at(-1)!.candidates![0]!.finishReason).toBe('STOP')
  expect(chunks.at(-1)!.usageMetadata).toEqual(whole.usageMetadata)
})

test('google: structured output, thoughts, system instruction', async () => {
  const { client } = await googleClient()
  const reply = await client.models.generateContent({
    model: 'sandbox-text',
    contents: 'Invent',
    config: {
      systemInstruction: 'Be brief',
      thinkingConfig: { includeThoughts: true },
      responseMimeType: 'application/json',
      responseSchema: { type: Type.OBJECT, properties: { age: { type: Type.INTEGER } }, required: ['age'] },
    },
  })
  expect(JSON.parse(reply.text!).age).toBeTypeOf('number')
  expect(reply.candidates![0]!.content!.parts![0]!.thought).toBe(true)
})

test('google: a forced function call, in a stream too', async () => {
  const { client } = await googleClient()
  const request = {
    model: 'sandbox-text',
    contents: 'Hello',
    config: {
      tools: [{ functionDeclarations: [{ name: 'get_weather', parametersJsonSchema: parameters }] }],
      toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY } },
    },
  }
  const whole = await client.models.generateContent(request)
  expect(whole.functionCalls![0]).toMatchObject({ name: 'get_weather', args: { city: expect.any(String) } })
  const chunks = await allOf(await client.models.generateContentStream(request))
  expect(chunks.flatMap((chunk) => chunk.functionCalls ?? [])).toEqual(whole.functionCalls)
})

test('google: a chat keeps its history', async () => {
  const { client } = await googleClient()
  const chat = client.chats.create({ model: 'sandbox-text' })
  await chat.sendMessage({ message: 'First' })
  const second = await chat.sendMessage({ message: 'Second' })
  expect(second.text).toContain('“Second”')
  expect(second.usageMetadata!.promptTokenCount).toBeGreaterThan(20)
})

test('google: errors carry their status, before and in a stream', async () => {
  // That client recognises an error in a stream only when it arrives by itself, as it does from the real service.
  const { client, sandbox } = await googleClient({ latency: 2 })
  const invalid = client.models.generateContent({ model: 'm', contents: 'hi', config: { topP: 7 } })
  await expect(invalid).rejects.toMatchObject({ name: 'ApiError', status: 400 })
  const stranger = new GoogleGenAI({ apiKey: 'invalid', httpOptions: { baseUrl: sandbox.url } })
  const refused = stranger.models.generateContentStream({ model: 'm', contents: 'hi' })
  await expect(refused).rejects.toMatchObject({ status: 401 })
  const broken = await client.models.generateContentStream({ model: 'sandbox-error', contents: 'hi' })
  await expect(allOf(broken)).rejects.toBeInstanceOf(ApiError)
})
