import { HumanMessage, type AIMessage } from '@langchain/core/messages'
import type { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { tool } from '@langchain/core/tools'
import { ChatGoogleGenerativeAI, GoogleGenerativeAIEmbeddings } from '@langchain/google-genai'
import { ChatOpenAI } from '@langchain/openai'
import { describe, expect, test } from 'vitest'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { all, dot } from './all.ts'

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

  test('tools in a stream', async () => {
    const model = modelAt((await runningSandbox()).url).bindTools([weather])
    const asked = new HumanMessage('weather in Rome?')
    const chunks = await all(await model.stream([asked]))
    const call = chunks.reduce((whole, chunk) => whole.concat(chunk))
    const result = await weather.invoke(call.tool_calls![0]!)
    const answer = await all(await model.stream([asked, call, result]))
    expect(answer.map(({ text }) => text).join('')).toMatch(/sunny in ./)
  })

  test('objects by function calls', async () => {
    const model = modelAt((await runningSandbox()).url)
    const schema = { title: 'Place', ...city }
    const structured = model.withStructuredOutput(schema, { method: 'functionCalling' })
    expect(await structured.invoke('a place')).toEqual({ city: expect.any(String) })
  })

  test('events of a stream', async () => {
    const model = modelAt((await runningSandbox()).url)
    const events = await all((model as BaseChatModel).streamEvents('hi', { version: 'v2' }))
    const names = new Set(events.map(({ event }) => event))
    expect([...names]).toEqual(['on_chat_model_start', 'on_chat_model_stream', 'on_chat_model_end'])
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

  test('previous_response_id', async () => {
    const { url } = await runningSandbox()
    const model = openaiAt(url)
    const { response_metadata: first } = await model.invoke('x'.repeat(400))
    const second = await model.invoke('and?', { previous_response_id: first['id'] as string })
    expect(second.usage_metadata).toMatchObject({ input_tokens: expect.toSatisfy((count) => count > 100) })
  })

  test('reasoning without a store', async () => {
    const { url } = await runningSandbox()
    const model = openaiAt(url, {
      model: 'gpt-5.2',
      zdrEnabled: true,
      reasoning: { effort: 'low', summary: 'auto' },
    })
    const asked = new HumanMessage('hi')
    const first = await model.invoke([asked])
    expect(first.contentBlocks.map(({ type }) => type)).toEqual(['reasoning', 'text'])
    expect((await model.invoke([asked, first, new HumanMessage('and?')])).text).toContain('“and?”')
  })

  test.each([
    ['file search', { type: 'file_search', vector_store_ids: ['vs_1'] }],
    ['code interpreter', { type: 'code_interpreter', container: { type: 'auto' } }],
    ['image generation', { type: 'image_generation', quality: 'low' }],
    [
      'remote tools',
      {
        type: 'mcp',
        server_label: 'maps',
        server_url: 'https://maps.example/mcp',
        require_approval: 'never',
      },
    ],
  ])('%s', async (_, builtIn) => {
    const { url } = await runningSandbox()
    const model = openaiAt(url).bindTools([builtIn])
    const asked = new HumanMessage(`sandbox:${builtIn.type}`)
    const first = (await all(await model.stream([asked]))).reduce((whole, chunk) => whole.concat(chunk))
    expect(first.text).toMatch(/^\[sandbox\] /)
    expect(JSON.stringify(first.additional_kwargs)).toContain(`${builtIn.type}_call`)
    expect((await model.invoke([asked, first, new HumanMessage('and?')])).text).toContain('“and?”')
  })

  test('chat completions: not offered', async () => {
    const { url } = await runningSandbox()
    await expect(openaiAt(url, { useResponsesApi: false }).invoke('hi')).rejects.toMatchObject({
      status: 404,
    })
  })
})

describe('@langchain/google-genai', () => {
  test.each([
    ['web search', { googleSearch: {} }, 'groundingMetadata'],
    ['code execution', { codeExecution: {} }, 'executableCode'],
    ['URL context', { urlContext: {} }, 'urlContextMetadata'],
  ])('%s', async (_, builtIn, sign) => {
    const model = googleAt((await runningSandbox()).url).bindTools([builtIn])
    const asked = new HumanMessage('find out: https://example.com/a')
    const first = await model.invoke([asked])
    expect(JSON.stringify(first)).toContain(sign)
    expect((await model.invoke([asked, first, new HumanMessage('and?')])).text).toContain('“and?”')
  })

  test('thoughts', async () => {
    const model = googleAt((await runningSandbox()).url, { thinkingConfig: { includeThoughts: true } })
    const { content } = await model.invoke('hi')
    expect(content).toMatchObject([{ type: 'thinking' }, { type: 'text' }])
  })

  test('embeddings: not offered', async () => {
    const { url } = await runningSandbox()
    const embeddings = new GoogleGenerativeAIEmbeddings({ apiKey: 'any', maxRetries: 0, baseUrl: url })
    await expect(embeddings.embedQuery('hi')).rejects.toMatchObject({ status: 404 })
  })
})
