import { createOpenAI } from '@ai-sdk/openai'
import { embed, generateImage, generateText, isStepCount, streamText, type ToolSet } from 'ai'
import { expect, test } from 'vitest'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { maskPng, testImages } from '../../support/test-images.ts'
import { all } from './all.ts'

const key = { apiKey: 'any' }
const once = { maxRetries: 0 }

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

test('previousResponseId', async () => {
  const model = createOpenAI({ baseURL: `${(await runningSandbox()).url}/v1`, ...key })('sandbox-text')
  const first = await generateText({ model, prompt: 'x'.repeat(400), ...once })
  const previousResponseId = first.response.id
  const { usage } = await generateText({
    model,
    prompt: 'and?',
    providerOptions: { openai: { previousResponseId } },
    ...once,
  })
  expect(usage.inputTokens).toBeGreaterThan(100)
})

test('reasoning without a store', async () => {
  const model = createOpenAI({ baseURL: `${(await runningSandbox()).url}/v1`, ...key })('gpt-5.2')
  const providerOptions = {
    openai: { store: false, include: ['reasoning.encrypted_content'], reasoningSummary: 'auto' },
  }
  const asked = { role: 'user' as const, content: 'hi' }
  const first = await generateText({ model, messages: [asked], providerOptions, ...once })
  const [reasoning] = first.reasoning
  expect(reasoning!.providerMetadata!['openai']!['reasoningEncryptedContent']).toEqual(expect.any(String))
  const messages = [asked, ...first.response.messages, { role: 'user' as const, content: 'and?' }]
  const { text, warnings } = await generateText({ model, messages, providerOptions, ...once })
  expect([text, warnings]).toEqual([expect.stringContaining('“and?”'), []])
})

const { tools } = createOpenAI(key)
const server = { serverLabel: 'maps', serverUrl: 'https://maps.example/mcp' }
test.each<[string, ToolSet, parts: string[], steps: number]>([
  [
    'file search',
    { file_search: tools.fileSearch({ vectorStoreIds: ['vs_1'] }) },
    ['tool-result', 'source'],
    1,
  ],
  ['code interpreter', { code_interpreter: tools.codeInterpreter({}) }, ['tool-result', 'source'], 1],
  ['image generation', { image_generation: tools.imageGeneration({ partialImages: 1 }) }, ['tool-result'], 1],
  ['remote tools', { mcp: tools.mcp({ ...server, requireApproval: 'never' }) }, ['tool-result'], 1],
  [
    'approval of remote tools',
    { mcp: tools.mcp({ ...server, requireApproval: 'always' }) },
    ['tool-approval-request'],
    1,
  ],
  ['custom tools', { custom: tools.customTool({ execute: async () => 'done' }) }, ['tool-result'], 2],
])('%s', async (_, offered, parts, count) => {
  const model = createOpenAI({ baseURL: `${(await runningSandbox()).url}/v1`, ...key })('sandbox-text')
  const [name] = Object.keys(offered)
  const request = {
    model,
    tools: offered,
    prompt: `use sandbox:${parts[0] === 'tool-approval-request' ? 'approval' : name}`,
    stopWhen: isStepCount(3),
    ...once,
  }
  const { steps } = await generateText(request)
  expect(steps).toHaveLength(count)
  expect(steps[0]!.content.map(({ type }) => type)).toEqual(expect.arrayContaining(['tool-call', ...parts]))
  const streamed = (await all(streamText(request).fullStream)).map(({ type }) => type)
  expect(streamed).toEqual(expect.arrayContaining(['tool-call', ...parts, 'finish']))
})

test('edits of images', async () => {
  const { url } = await runningSandbox()
  const model = createOpenAI({ baseURL: `${url}/v1`, ...key }).image('gpt-image-2')
  const prompt = { text: 'at night', images: [(await testImages(64)).png], mask: await maskPng(64) }
  expect((await generateImage({ model, prompt, ...once })).images).toHaveLength(1)
})

test.each([
  ['service tiers but default', { serviceTier: 'flex' }],
  ['promptCacheRetention', { promptCacheRetention: '24h' }],
])('%s: refused', async (_, openai) => {
  const model = createOpenAI({ baseURL: `${(await runningSandbox()).url}/v1`, ...key })('gpt-5.2')
  const asked = generateText({ model, prompt: 'hi', providerOptions: { openai }, ...once })
  await expect(asked).rejects.toMatchObject({ statusCode: 400 })
})

test('chat completions and embeddings: not offered', async () => {
  const { url } = await runningSandbox()
  const openai = createOpenAI({ baseURL: `${url}/v1`, ...key })
  const chat = generateText({ model: openai.chat('sandbox-text'), prompt: 'hi', ...once })
  await expect(chat).rejects.toMatchObject({ statusCode: 404 })
  const vector = embed({ model: openai.embedding('x'), value: 'hi', ...once })
  await expect(vector).rejects.toMatchObject({ statusCode: 404 })
})
