import { HumanMessage, type AIMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatGoogleGenerativeAI } from '@langchain/google-genai'
import { ChatOpenAI } from '@langchain/openai'
import { describe, expect, test } from 'vitest'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { all } from './all.ts'

const common = { apiKey: 'any', maxRetries: 0 }

const openaiAt = (url: string, more: object = {}) =>
  new ChatOpenAI({
    model: 'sandbox-text',
    useResponsesApi: true,
    configuration: { baseURL: `${url}/v1` },
    ...common,
    ...more,
  })

const googleAt = (url: string, more: object = {}) =>
  new ChatGoogleGenerativeAI({ model: 'sandbox-text', baseUrl: url, ...common, ...more })

const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const
const weather = tool(async (input) => `sunny in ${(input as { city: string }).city}`, {
  name: 'weather',
  description: 'the weather in a city',
  schema: city,
})

const dot =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const picture = new HumanMessage({
  content: [
    { type: 'text', text: 'what is this?' },
    { type: 'image_url', image_url: { url: dot } },
  ],
})

describe.each([
  ['openai', openaiAt],
  ['google-genai', googleAt],
])('@langchain/%s', (_, modelAt) => {
  test('text', async () => {
    const message: AIMessage = await modelAt((await runningSandbox()).url).invoke('hi')
    expect(message.text).toMatch(/^\[sandbox\] /)
    const { input_tokens: input, output_tokens: output, total_tokens: total } = message.usage_metadata!
    expect(total).toBe(input + output)
  })

  test('streamed text', async () => {
    const chunks = await all(await modelAt((await runningSandbox()).url).stream('hi'))
    expect(chunks.length).toBeGreaterThan(5)
    expect(chunks.map(({ text }) => text).join('')).toMatch(/^\[sandbox\] /)
  })

  test('objects', async () => {
    const model = modelAt((await runningSandbox()).url)
    const schema = { title: 'Place', ...city }
    expect(await model.withStructuredOutput(schema).invoke('a place')).toEqual({ city: expect.any(String) })
  })

  test('tools', async () => {
    const model = modelAt((await runningSandbox()).url)
    const asked = new HumanMessage('weather in Rome?')
    const call = await model.bindTools([weather], { tool_choice: 'any' }).invoke([asked])
    expect(call.tool_calls).toMatchObject([{ name: 'weather', args: { city: expect.any(String) } }])
    const result = await weather.invoke(call.tool_calls![0]!)
    const { text } = await model.bindTools([weather]).invoke([asked, call as AIMessage, result])
    expect(text).toMatch(/sunny in ./)
  })

  test('pictures in a prompt', async () => {
    // The Google client knows by its name whether a model takes pictures.
    const model = modelAt((await runningSandbox()).url, { model: 'gemini-2.5-pro' })
    expect((await model.invoke([picture])).text).toMatch(/^\[sandbox\] /)
  })

  test('temperature with top_p', async () => {
    const model = modelAt((await runningSandbox()).url, { temperature: 0.3, topP: 0.5 })
    expect((await model.invoke('hi')).text).toMatch(/^\[sandbox\] /)
  })
})

describe('@langchain/openai', () => {
  test('web search', async () => {
    const model = openaiAt((await runningSandbox()).url)
    // The client sends no choice of a built-in tool, so the prompt asks for it.
    const { content } = await model.bindTools([{ type: 'web_search' }]).invoke('sandbox:web_search news')
    const [{ annotations }] = content as unknown as [{ annotations: unknown[] }]
    expect(annotations[0]).toMatchObject({ source: 'url_citation', url: expect.stringMatching(/^https:/) })
  })

  test('chat completions are not offered', async () => {
    const { url } = await runningSandbox()
    await expect(openaiAt(url, { useResponsesApi: false }).invoke('hi')).rejects.toMatchObject({
      status: 404,
    })
  })
})
