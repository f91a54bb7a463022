import { createGoogleGenerativeAI } from '@ai-sdk/google'
import {
  experimental_generateVideo as generateVideo,
  embed,
  generateImage,
  generateText,
  streamText,
  type ToolSet,
} from 'ai'
import { expect, test } from 'vitest'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { testImages } from '../../support/test-images.ts'
import { all } from './all.ts'

const key = { apiKey: 'any' }
const once = { maxRetries: 0 }

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

const { tools } = createGoogleGenerativeAI(key)
test.each<[string, ToolSet, type: string]>([
  ['code execution', { code_execution: tools.codeExecution({}) }, 'tool-result'],
  ['URL context', { url_context: tools.urlContext({}) }, 'source'],
  ['maps', { google_maps: tools.googleMaps({}) }, 'source'],
  [
    'file search',
    { file_search: tools.fileSearch({ fileSearchStoreNames: ['fileSearchStores/a'] }) },
    'source',
  ],
])('%s', async (_, offered, type) => {
  const request = {
    model: googleAt((await runningSandbox()).url)('gemini-3-pro'),
    tools: offered,
    prompt: 'find out: https://example.com/a',
    ...once,
  }
  expect((await generateText(request)).content.map((part) => part.type)).toContain(type)
  expect((await all(streamText(request).fullStream)).map((part) => part.type)).toContain(type)
})

test('reasoning', async () => {
  const { url } = await runningSandbox()
  const { reasoningText, text } = await generateText({
    model: googleAt(url)('gemini-3-pro'),
    providerOptions: { google: { thinkingConfig: { includeThoughts: true } } },
    prompt: 'hi',
    ...once,
  })
  expect([reasoningText, text]).toEqual([expect.any(String), expect.stringMatching(/^\[sandbox\] /)])
})

test('images, also edited', async () => {
  const { url } = await runningSandbox()
  const model = googleAt(url).image('gemini-2.5-flash-image')
  for (const prompt of ['a boat', { text: 'at night', images: [(await testImages(64)).png] }]) {
    const { images } = await generateImage({ model, prompt, ...once })
    expect(images.map(({ mediaType }) => mediaType)).toEqual(['image/png'])
  }
})

test('cachedContent: refused', async () => {
  const model = googleAt((await runningSandbox()).url)('gemini-3-pro')
  const providerOptions = { google: { cachedContent: 'cachedContents/a' } }
  const asked = generateText({ model, prompt: 'hi', providerOptions, ...once })
  await expect(asked).rejects.toMatchObject({ statusCode: 400 })
})

test('embeddings: not offered', async () => {
  const { url } = await runningSandbox()
  const vector = embed({ model: googleAt(url).embedding('x'), value: 'hi', ...once })
  await expect(vector).rejects.toMatchObject({ statusCode: 404 })
})

test('videos', async () => {
  const { url } = await runningSandbox()
  const { videos } = await generateVideo({
    model: googleAt(url).video('veo-3.1-generate-preview'),
    prompt: 'a boat',
    poll: { intervalMs: 100 },
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
