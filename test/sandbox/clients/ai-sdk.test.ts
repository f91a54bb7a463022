import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import {
  embed,
  experimental_generateVideo as generateVideo,
  generateImage,
  generateText,
  jsonSchema,
  Output,
  isStepCount,
  streamText,
  tool,
  type LanguageModel,
} from 'ai'
import { describe, expect, test } from 'vitest'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { all } from './all.ts'

const key = { apiKey: 'any' }
const once = { maxRetries: 0 }

const providers: readonly [string, (url: string) => LanguageModel][] = [
  ['openai', (url) => createOpenAI({ baseURL: `${url}/v1`, ...key })('sandbox-text')],
  ['google', (url) => createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, ...key })('sandbox-text')],
]

const weather = tool({
  description: 'the weather in a city',
  inputSchema: jsonSchema<{ city: string }>({
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  }),
  execute: async ({ city }) => `sunny in ${city}`,
})

const boat = Output.object({
  schema: jsonSchema<{ name: string; length: number }>({
    type: 'object',
    properties: { name: { type: 'string' }, length: { type: 'integer', minimum: 3, maximum: 9 } },
    required: ['name', 'length'],
    additionalProperties: false,
  }),
})
const aBoat = {
  name: expect.any(String),
  length: expect.toSatisfy((length: number) => [3, 4, 5, 6, 7, 8, 9].includes(length)),
}

describe.each(providers)('@ai-sdk/%s', (_, modelAt) => {
  test('text', async () => {
    const model = modelAt((await runningSandbox()).url)
    const { text, usage, finishReason } = await generateText({ model, prompt: 'hi', ...once })
    expect([text.startsWith('[sandbox] '), finishReason]).toEqual([true, 'stop'])
    expect(usage.totalTokens).toBe(usage.inputTokens! + usage.outputTokens!)
  })

  test('streamed text', async () => {
    const model = modelAt((await runningSandbox()).url)
    const { textStream, text } = streamText({ model, prompt: 'hi', ...once })
    const pieces = await all(textStream)
    expect(pieces.length).toBeGreaterThan(5)
    expect(pieces.join('')).toBe(await text)
  })

  test('objects', async () => {
    const model = modelAt((await runningSandbox()).url)
    const { output } = await generateText({ model, output: boat, prompt: 'a boat', ...once })
    expect(output).toEqual(aBoat)
  })

  test('streamed objects', async () => {
    const model = modelAt((await runningSandbox()).url)
    const { partialOutputStream } = streamText({ model, output: boat, prompt: 'a boat', ...once })
    expect((await all(partialOutputStream)).at(-1)).toEqual(aBoat)
  })

  test('tools', async () => {
    const model = modelAt((await runningSandbox()).url)
    const { steps, text } = await generateText({
      model,
      tools: { weather },
      prepareStep: ({ stepNumber }) => ({ toolChoice: stepNumber === 0 ? 'required' : 'auto' }),
      stopWhen: isStepCount(3),
      prompt: 'weather in Rome?',
      ...once,
    })
    expect(steps.map(({ toolCalls }) => toolCalls.length)).toEqual([1, 0])
    expect(steps[0]!.toolResults[0]!.output).toMatch(/^sunny in ./)
    expect(text).toMatch(/sunny in ./)
  })

  test('temperature with top_p', async () => {
    const model = modelAt((await runningSandbox()).url)
    const { text } = await generateText({ model, temperature: 0.3, topP: 0.5, prompt: 'hi', ...once })
    expect(text).toMatch(/^\[sandbox\] /)
  })

  test('a refused key', async () => {
    const { url } = await runningSandbox()
    const refusing = modelAt(url)
    const asked = generateText({
      model: refusing,
      prompt: 'hi',
      headers: { authorization: 'Bearer invalid', 'x-goog-api-key': 'invalid' },
      ...once,
    })
    await expect(asked).rejects.toMatchObject({
      statusCode: expect.toSatisfy((code) => code === 401 || code === 400),
    })
  })
})

describe('@ai-sdk/openai', () => {
  test('images', async () => {
    const { url } = await runningSandbox()
    const model = createOpenAI({ baseURL: `${url}/v1`, ...key }).image('gpt-image-2')
    const { images } = await generateImage({ model, prompt: 'a boat', n: 2, ...once })
    expect(images.map(({ mediaType }) => mediaType)).toEqual(['image/png', 'image/png'])
  })

  test('reasoning', async () => {
    const { url } = await runningSandbox()
    const { reasoningText, text } = await generateText({
      model: createOpenAI({ baseURL: `${url}/v1`, ...key })('gpt-5.2'),
      providerOptions: { openai: { reasoningSummary: 'auto', reasoningEffort: 'low' } },
      prompt: 'hi',
      ...once,
    })
    expect([reasoningText, text]).toEqual([expect.any(String), expect.stringMatching(/^\[sandbox\] /)])
  })

  test('a failed response', async () => {
    const { url } = await runningSandbox()
    const model = createOpenAI({ baseURL: `${url}/v1`, ...key })('sandbox-failure')
    await expect(generateText({ model, prompt: 'hi', ...once })).rejects.toThrow('could not generate')
  })

  test('web search', async () => {
    const { url } = await runningSandbox()
    const openai = createOpenAI({ baseURL: `${url}/v1`, ...key })
    const { sources, toolCalls, text } = await generateText({
      model: openai('sandbox-text'),
      tools: { web_search: openai.tools.webSearch({}) },
      toolChoice: { type: 'tool', toolName: 'web_search' },
      prompt: 'news',
      ...once,
    })
    expect(toolCalls.map(({ toolName }) => toolName)).toEqual(['web_search'])
    expect(sources[0]).toMatchObject({ sourceType: 'url', url: expect.stringMatching(/^https:/) })
    expect(text).toMatch(/^\[sandbox\] /)
  })

  test('chat completions and embeddings are not offered', async () => {
    const { url } = await runningSandbox()
    const openai = createOpenAI({ baseURL: `${url}/v1`, ...key })
    const chat = generateText({ model: openai.chat('sandbox-text'), prompt: 'hi', ...once })
    await expect(chat).rejects.toMatchObject({ statusCode: 404 })
    const vector = embed({ model: openai.embedding('x'), value: 'hi', ...once })
    await expect(vector).rejects.toMatchObject({ statusCode: 404 })
  })
})

describe('@ai-sdk/google', () => {
  const googleAt = (url: string) => createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, ...key })

  test('pictures in an answer', async () => {
    const { url } = await runningSandbox()
    const { files } = await generateText({
      model: googleAt(url)('sandbox-text'),
      providerOptions: { google: { responseModalities: ['TEXT', 'IMAGE'] } },
      prompt: 'a boat',
      ...once,
    })
    expect(files.map(({ mediaType }) => mediaType)).toEqual(['image/png'])
  })

  test('web search', async () => {
    const { url } = await runningSandbox()
    const google = googleAt(url)
    const { sources } = await generateText({
      model: google('gemini-3-pro'),
      tools: { google_search: google.tools.googleSearch({}) },
      prompt: 'sandbox:googleSearch news',
      ...once,
    })
    expect(sources[0]).toMatchObject({ sourceType: 'url', url: expect.stringMatching(/^https:/) })
  })

  test('videos', async () => {
    const { url } = await runningSandbox()
    const { videos } = await generateVideo({
      model: googleAt(url).video('veo-3.1-generate-preview'),
      prompt: 'a boat',
      providerOptions: { google: { pollIntervalMs: 100 } },
      // Its own download refuses addresses of this machine.
      download: async ({ url: file }) => {
        const reply = await fetch(file)
        return {
          data: new Uint8Array(await reply.arrayBuffer()),
          mediaType: reply.headers.get('content-type') ?? undefined,
        }
      },
      ...once,
    })
    expect(videos.map(({ mediaType }) => mediaType)).toEqual(['video/mp4'])
  })
})
