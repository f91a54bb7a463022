import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import * as ai from 'ai'
import { describe, expect, test } from 'vitest'
import { maskPng, testImages } from '../../support/test-images.ts'
import { aiSdks, googleSdk, openaiSdk } from './ai-sdk.ts'
import { all, common, server } from './all.ts'

describe.each(aiSdks)('%s', (_, { at, lastOfStream }) => {
  test('streamed objects', async () => {
    expect(await lastOfStream()).toEqual({ city: expect.any(String) })
  })

  test('choices and arrays', async () => {
    const choice = ai.Output.choice({ options: ['red', 'blue'] })
    const { output: chosen } = await ai.generateText({ ...(await at()), output: choice, prompt: 'x' })
    expect(chosen).toMatch(/^(red|blue)$/)
    const array = ai.Output.array({ element: ai.jsonSchema<string>({ type: 'string' }) })
    const { output } = await ai.generateText({ ...(await at()), output: array, prompt: 'x' })
    expect(output[0]).toEqual(expect.any(String))
  })

  test('an abort', async () => {
    const stop = new AbortController()
    const request = { ...(await at()), prompt: 'sandbox:long', abortSignal: stop.signal }
    const types: string[] = []
    for await (const { type } of ai.streamText(request).fullStream) {
      types.push(type)
      if (type === 'text-delta') stop.abort()
    }
    expect(types.at(-1)).toBe('abort')
  })
})

const { png } = await testImages(64)
const mask = await maskPng(64)

describe('@ai-sdk/openai', () => {
  const { tools } = createOpenAI(common)

  test.each<[string, prompt: Parameters<typeof ai.generateImage>[0]['prompt']]>([
    ['images', 'a boat'],
    ['edits of images', { text: 'at night', images: [png], mask }],
  ])('%s', async (_, prompt) => {
    const model = (await openaiSdk()).image('gpt-image-2')
    const { images } = await ai.generateImage({ model, prompt, n: 2, maxRetries: 0 })
    expect(images.map(({ mediaType }) => mediaType)).toEqual(['image/png', 'image/png'])
  })

  const drawing = tools.imageGeneration({ partialImages: 1 })
  test.each<[string, offered: ai.ToolSet, parts: string[], steps: number]>([
    ['web search', { web_search: tools.webSearch({}) }, ['source'], 1],
    ['file search', { file_search: tools.fileSearch({ vectorStoreIds: ['vs_1'] }) }, ['source'], 1],
    ['code interpreter', { code_interpreter: tools.codeInterpreter({}) }, ['tool-result', 'source'], 1],
    ['image generation', { image_generation: drawing }, ['tool-result'], 1],
    ['remote tools', { mcp: tools.mcp({ ...server, requireApproval: 'never' }) }, ['tool-result'], 1],
    ['approval of remote tools', { approval: tools.mcp(server) }, ['tool-approval-request'], 1],
    ['custom tools', { custom: tools.customTool({ execute: async () => 'done' }) }, ['tool-result'], 2],
  ])('%s', async (_, offered, parts, count) => {
    const request = {
      model: (await openaiSdk())('sandbox-text'),
      tools: offered,
      prompt: `use sandbox:${Object.keys(offered)[0]}`,
      stopWhen: ai.isStepCount(3),
      maxRetries: 0,
    }
    const { steps } = await ai.generateText(request)
    expect(steps).toHaveLength(count)
    expect(steps[0]!.content.map(({ type }) => type)).toEqual(expect.arrayContaining(['tool-call', ...parts]))
    const streamed = (await all(ai.streamText(request).fullStream)).map(({ type }) => type)
    expect(streamed).toEqual(expect.arrayContaining(['tool-call', ...parts, 'finish']))
  })

  /** A model that is asked one thing after another. */
  async function asking(name: string) {
    const model = (await openaiSdk())(name)
    return (prompt: string | ai.ModelMessage[], openai: Record<string, ai.JSONValue> = {}) =>
      ai.generateText({ model, prompt, providerOptions: { openai }, maxRetries: 0 })
  }

  test('reasoning', async () => {
    const ask = await asking('gpt-5.2')
    const { reasoningText } = await ask('hi', { reasoningSummary: 'auto', reasoningEffort: 'low' })
    expect(reasoningText).toEqual(expect.any(String))
  })

  test('reasoning without a store', async () => {
    const ask = await asking('gpt-5.2')
    const options = { store: false, include: ['reasoning.encrypted_content'], reasoningSummary: 'auto' }
    const user = (content: string) => ({ role: 'user' as const, content })
    const { reasoning, response } = await ask([user('hi')], options)
    const reasoningEncryptedContent = expect.any(String) as string
    expect(reasoning[0]!.providerMetadata).toMatchObject({ openai: { reasoningEncryptedContent } })
    const { text, warnings } = await ask([user('hi'), ...response.messages, user('and?')], options)
    expect([text, warnings]).toEqual([expect.stringContaining('“and?”'), []])
  })

  test('previousResponseId', async () => {
    const ask = await asking('sandbox-text')
    const { response } = await ask('x'.repeat(400))
    expect((await ask('and?', { previousResponseId: response.id })).usage.inputTokens).toBeGreaterThan(100)
  })

  test('a failed response', async () => {
    await expect((await asking('sandbox-failure'))('hi')).rejects.toThrow('could not generate')
  })

  test.each([
    ['service tiers but default', { serviceTier: 'flex' }],
    ['promptCacheRetention', { promptCacheRetention: '24h' }],
  ])('%s: refused', async (_, options) => {
    await expect((await asking('gpt-5.2'))('hi', options)).rejects.toMatchObject({ statusCode: 400 })
  })

  test('chat completions and embeddings: not offered', async () => {
    const sdk = await openaiSdk()
    const chat = ai.generateText({ model: sdk.chat('sandbox-text'), prompt: 'hi', maxRetries: 0 })
    await expect(chat).rejects.toMatchObject({ statusCode: 404 })
    const vector = ai.embed({ model: sdk.embedding('x'), value: 'hi', maxRetries: 0 })
    await expect(vector).rejects.toMatchObject({ statusCode: 404 })
  })
})

describe('@ai-sdk/google', () => {
  const { tools } = createGoogleGenerativeAI(common)

  const shelf = tools.fileSearch({ fileSearchStoreNames: ['fileSearchStores/a'] })
  test.each<[string, offered: ai.ToolSet, type: string]>([
    ['web search', { google_search: tools.googleSearch({}) }, 'source'],
    ['code execution', { code_execution: tools.codeExecution({}) }, 'tool-result'],
    ['URL context', { url_context: tools.urlContext({}) }, 'source'],
    ['maps', { google_maps: tools.googleMaps({}) }, 'source'],
    ['file search', { file_search: shelf }, 'source'],
  ])('%s', async (_, offered, type) => {
    const model = (await googleSdk())('gemini-3-pro')
    const request = { model, tools: offered, prompt: 'find out: https://example.com/a', maxRetries: 0 }
    expect((await ai.generateText(request)).content.map((part) => part.type)).toContain(type)
    expect((await all(ai.streamText(request).fullStream)).map((part) => part.type)).toContain(type)
  })

  const ask = async (google: Record<string, string | string[] | Record<string, boolean>>) => {
    const model = (await googleSdk())('gemini-3-pro')
    return ai.generateText({ model, providerOptions: { google }, prompt: 'hi', maxRetries: 0 })
  }

  test('pictures in an answer', async () => {
    const { files } = await ask({ responseModalities: ['TEXT', 'IMAGE'] })
    expect(files.map(({ mediaType }) => mediaType)).toEqual(['image/png'])
  })

  test('reasoning', async () => {
    const { reasoningText, text } = await ask({ thinkingConfig: { includeThoughts: true } })
    expect([reasoningText, text]).toEqual([expect.any(String), expect.stringMatching(/^\[sandbox\] /)])
  })

  test('images, also edited', async () => {
    const model = (await googleSdk()).image('gemini-2.5-flash-image')
    for (const prompt of ['a boat', { text: 'at night', images: [png] }]) {
      const { images } = await ai.generateImage({ model, prompt, maxRetries: 0 })
      expect(images.map(({ mediaType }) => mediaType)).toEqual(['image/png'])
    }
  })

  test('videos', async () => {
    const { videos } = await ai.experimental_generateVideo({
      model: (await googleSdk()).video('veo-3.1-generate-preview'),
      prompt: 'a boat',
      poll: { intervalMs: 100 },
      // Its own download refuses addresses of this machine.
      async download({ url }) {
        const reply = await fetch(url)
        const mediaType = reply.headers.get('content-type') ?? undefined
        return { data: new Uint8Array(await reply.arrayBuffer()), mediaType }
      },
      maxRetries: 0,
    })
    expect(videos.map(({ mediaType }) => mediaType)).toEqual(['video/mp4'])
  })

  test('cachedContent: refused', async () => {
    await expect(ask({ cachedContent: 'cachedContents/a' })).rejects.toMatchObject({ statusCode: 400 })
  })

  test('embeddings: not offered', async () => {
    const vector = ai.embed({ model: (await googleSdk()).embedding('x'), value: 'hi', maxRetries: 0 })
    await expect(vector).rejects.toMatchObject({ statusCode: 404 })
  })
})
