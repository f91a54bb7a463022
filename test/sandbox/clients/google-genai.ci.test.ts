import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  ApiError,
  createPartFromBase64,
  FunctionCallingConfigMode,
  GenerateVideosOperation,
  GoogleGenAI,
  Modality,
  ServiceTier,
  Type,
  type CallableTool,
  type GeneratedVideo,
  type Tool,
} from '@google/genai'
import { expect, test } from 'vitest'
import { fakeClock } from '../../support/fake-clock.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { operate } from '../../support/video-calls.ts'
import { all, dotBase64, place } from './all.ts'

async function googleClient(options = {}, apiVersion = 'v1beta') {
  const sandbox = await runningSandbox(options)
  const client = new GoogleGenAI({ apiKey: 'any', httpOptions: { baseUrl: sandbox.url, apiVersion } })
  return { sandbox, client }
}

test.for(['v1', 'v1beta'])('text and streams (%s)', async (apiVersion) => {
  const { client } = await googleClient({}, apiVersion)
  const request = { model: 'sandbox-text', contents: 'Name a river' }
  const whole = await client.models.generateContent(request)
  expect(whole.text).toContain('“Name a river”')
  const chunks = await all(await client.models.generateContentStream(request))
  expect(chunks.map((chunk) => chunk.text ?? '').join('')).toBe(whole.text)
  expect(chunks.at(-1)!.candidates![0]!.finishReason).toBe('STOP')
  expect(chunks.at(-1)!.usageMetadata).toEqual(whole.usageMetadata)
})

test('structured output, thoughts, system instructions', async () => {
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

test('function calls, whole and streamed', async () => {
  const { client } = await googleClient()
  const request = {
    model: 'sandbox-text',
    contents: 'Hello',
    config: {
      tools: [{ functionDeclarations: [{ name: 'get_weather', parametersJsonSchema: place }] }],
      toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY } },
    },
  }
  const whole = await client.models.generateContent(request)
  expect(whole.functionCalls![0]).toMatchObject({ name: 'get_weather', args: { city: expect.any(String) } })
  const chunks = await all(await client.models.generateContentStream(request))
  expect(chunks.flatMap((chunk) => chunk.functionCalls ?? [])).toEqual(whole.functionCalls)
})

test('automatic function calling, whole and streamed', async () => {
  const { client } = await googleClient()
  const called: unknown[] = []
  const weather: CallableTool = {
    tool: async () => ({ functionDeclarations: [{ name: 'get_weather', parametersJsonSchema: place }] }),
    callTool: async (calls) =>
      calls.map(({ id, name, args }) => {
        called.push(args)
        return { functionResponse: { id: id!, name: name!, response: { output: 'clear sky' } } }
      }),
  }
  const request = { model: 'sandbox-text', contents: 'get_weather please', config: { tools: [weather] } }
  expect((await client.models.generateContent(request)).text).toContain('clear sky')
  const chunks = await all(await client.models.generateContentStream(request))
  const texts = chunks.map(({ candidates }) => candidates?.[0]?.content?.parts?.[0]?.text ?? '')
  expect(texts.join('')).toContain('clear sky')
  expect(called).toEqual([{ city: expect.any(String) }, { city: expect.any(String) }])
})

test('pictures in a prompt and in an answer', async () => {
  const { client } = await googleClient()
  const contents = ['what is this?', createPartFromBase64(dotBase64, 'image/png')]
  const { text } = await client.models.generateContent({ model: 'sandbox-text', contents })
  expect(text).toContain('“what is this?”')
  const config = { responseModalities: [Modality.IMAGE] }
  const drawn = await client.models.generateContent({ model: 'sandbox-text', contents, config })
  expect(Buffer.from(drawn.data!, 'base64').toString('latin1', 1, 4)).toBe('PNG')
})

test.each<[string, Tool, string]>([
  ['web search', { googleSearch: {} }, 'groundingMetadata'],
  ['code execution', { codeExecution: {} }, 'codeExecutionResult'],
  ['URL context', { urlContext: {} }, 'urlContextMetadata'],
  ['maps', { googleMaps: {} }, 'groundingMetadata'],
  ['file search', { fileSearch: { fileSearchStoreNames: ['fileSearchStores/a'] } }, 'groundingMetadata'],
])('%s', async (_, tool, sign) => {
  const { client } = await googleClient()
  const chat = client.chats.create({ model: 'sandbox-text', config: { tools: [tool] } })
  const chunks = await all(await chat.sendMessageStream({ message: 'find out: https://example.com/a' }))
  expect(JSON.stringify(chunks)).toContain(sign)
  expect((await chat.sendMessage({ message: 'And now?' })).text).toContain('“And now?”')
})

test('chats', async () => {
  const { client } = await googleClient()
  const chat = client.chats.create({ model: 'sandbox-text' })
  await chat.sendMessage({ message: 'First' })
  const { usageMetadata } = await chat.sendMessage({ message: 'Second' })
  expect(usageMetadata!.promptTokenCount).toBeGreaterThan(20)
})

test('errors, before and in a stream', async () => {
  // That client recognises an error in a stream only when it arrives by itself, as it does from the real service.
  const { client, sandbox } = await googleClient({ latency: 2 })
  const invalid = client.models.generateContent({ model: 'm', contents: 'hi', config: { topP: 7 } })
  await expect(invalid).rejects.toMatchObject({ name: 'ApiError', status: 400 })
  const stranger = new GoogleGenAI({ apiKey: 'invalid', httpOptions: { baseUrl: sandbox.url } })
  const refused = stranger.models.generateContentStream({ model: 'm', contents: 'hi' })
  await expect(refused).rejects.toMatchObject({ status: 401 })
  const broken = await client.models.generateContentStream({ model: 'sandbox-error', contents: 'hi' })
  await expect(all(broken)).rejects.toBeInstanceOf(ApiError)
})

test('models', async () => {
  const { client } = await googleClient()
  const names: string[] = []
  for await (const model of await client.models.list()) names.push(model.name!)
  expect(names).toEqual(expect.arrayContaining(['models/sandbox-text', 'models/sandbox-video']))
  expect(new Set(names).size).toBe(names.length)
  const small = await client.models.get({ model: 'sandbox-small' })
  expect(small).toMatchObject({ inputTokenLimit: 1024, supportedActions: ['generateContent'] })
  await expect(client.models.get({ model: 'gemini-0' })).rejects.toMatchObject({ status: 404 })
})

test.each([
  ['cachedContent', { cachedContent: 'cachedContents/a' }],
  ['serviceTier', { serviceTier: ServiceTier.FLEX }],
])('%s: refused', async (_, config) => {
  const { client } = await googleClient()
  const asked = client.models.generateContent({ model: 'sandbox-text', contents: 'hi', config })
  await expect(asked).rejects.toMatchObject({ status: 400 })
})

const plainText = new Blob(['hi'], { type: 'text/plain' })

test.each([
  ['countTokens', (client: GoogleGenAI) => client.models.countTokens({ model: 'm', contents: 'hi' })],
  ['embeddings', (client: GoogleGenAI) => client.models.embedContent({ model: 'm', contents: 'hi' })],
  ['file upload', (client: GoogleGenAI) => client.files.upload({ file: plainText })],
  ['lists of files', (client: GoogleGenAI) => client.files.list()],
  ['caches', (client: GoogleGenAI) => client.caches.create({ model: 'm', config: { contents: 'hi' } })],
  ['batches', (client: GoogleGenAI) => client.batches.list()],
  ['interactions', (client: GoogleGenAI) => client.interactions.create({ model: 'm', input: 'hi' })],
])('%s: not offered', async (_, ask) => {
  const { client } = await googleClient()
  const message = expect.stringContaining('Invalid URL')
  await expect(ask(client)).rejects.toMatchObject({ status: 404, message })
})

test.each(['v1', 'v1beta'])('operations and files.download (%s)', async (apiVersion) => {
  const clock = fakeClock()
  const { client, sandbox } = await googleClient({ clock }, apiVersion)
  // The client itself creates videos at Vertex only.
  const { json } = await operate(sandbox, { durationSeconds: 4, sampleCount: 2 })
  let operation = Object.assign(new GenerateVideosOperation(), json)
  while (operation.done !== true) {
    operation = await client.operations.getVideosOperation({ operation })
    await clock.advance(1_000)
  }
  const [first, second] = operation.response!.generatedVideos as [GeneratedVideo, GeneratedVideo]
  const folder = temporaryFolder()
  const { uri } = second.video!
  const name = /files\/[\da-z]+/.exec(uri!)![0]
  for (const [at, file] of [first, second.video!, uri!, { name }, name, name.slice(6)].entries()) {
    const downloadPath = join(folder, `${at}.mp4`)
    await client.files.download({ file, downloadPath })
    expect((await readFile(downloadPath)).toString('latin1', 4, 8)).toBe('ftyp')
  }
})
