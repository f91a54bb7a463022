import { HumanMessage } from '@langchain/core/messages'
import type { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { GoogleGenerativeAIEmbeddings } from '@langchain/google-genai'
import { describe, expect, test } from 'vitest'
import { addressOf, all, common } from './all.ts'
import { googleChat, joined, langChains, openaiChat } from './langchain.ts'

describe.each(langChains)('%s', (_, { at, objectOfCall }) => {
  test('objects by function calls', async () => {
    expect(await objectOfCall()).toEqual({ city: expect.any(String) })
  })

  test('events of a stream', async () => {
    const events = await all(((await at()) as BaseChatModel).streamEvents('hi', { version: 'v2' }))
    const names = new Set(events.map(({ event }) => event))
    expect([...names]).toEqual(['on_chat_model_start', 'on_chat_model_stream', 'on_chat_model_end'])
  })
})

const remote = { server_label: 'maps', server_url: 'https://maps.example/mcp' }

describe('@langchain/openai', () => {
  test.each([
    ['web search', { type: 'web_search' }],
    ['file search', { type: 'file_search', vector_store_ids: ['vs_1'] }],
    ['code interpreter', { type: 'code_interpreter', container: { type: 'auto' } }],
    ['image generation', { type: 'image_generation', quality: 'low' }],
    ['remote tools', { type: 'mcp', ...remote, require_approval: 'never' }],
  ])('%s', async (_, builtIn) => {
    const model = (await openaiChat()).bindTools([builtIn])
    // The client sends no choice of a built-in tool, so the prompt asks for it.
    const asked = new HumanMessage(`sandbox:${builtIn.type}`)
    const first = joined(await all(await model.stream([asked])))
    expect(first.text).toMatch(/^\[sandbox\] /)
    expect(JSON.stringify(first.additional_kwargs)).toContain(`${builtIn.type}_call`)
    expect((await model.invoke([asked, first, new HumanMessage('and?')])).text).toContain('“and?”')
  })

  test('previous_response_id', async () => {
    const model = await openaiChat()
    const { response_metadata: first } = await model.invoke('x'.repeat(400))
    const second = await model.invoke('and?', { previous_response_id: first['id'] as string })
    expect(second.usage_metadata).toMatchObject({ input_tokens: expect.toSatisfy((count) => count > 100) })
  })

  test('reasoning without a store', async () => {
    const reasoning = { effort: 'low', summary: 'auto' }
    const model = await openaiChat({ model: 'gpt-5.2', zdrEnabled: true, reasoning })
    const first = await model.invoke('hi')
    expect(first.contentBlocks.map(({ type }) => type)).toEqual(['reasoning', 'text'])
    const messages = [new HumanMessage('hi'), first, new HumanMessage('and?')]
    expect((await model.invoke(messages)).text).toContain('“and?”')
  })

  test('chat completions: not offered', async () => {
    const asked = (await openaiChat({ useResponsesApi: false })).invoke('hi')
    await expect(asked).rejects.toMatchObject({ status: 404 })
  })
})

describe('@langchain/google-genai', () => {
  test.each([
    ['web search', { googleSearch: {} }, 'groundingMetadata'],
    ['code execution', { codeExecution: {} }, 'executableCode'],
    ['URL context', { urlContext: {} }, 'urlContextMetadata'],
  ])('%s', async (_, builtIn, sign) => {
    const model = (await googleChat()).bindTools([builtIn])
    const asked = new HumanMessage('find out: https://example.com/a')
    const first = await model.invoke([asked])
    expect(JSON.stringify(first)).toContain(sign)
    expect((await model.invoke([asked, first, new HumanMessage('and?')])).text).toContain('“and?”')
  })

  test('thoughts', async () => {
    const { content } = await (await googleChat({ thinkingConfig: { includeThoughts: true } })).invoke('hi')
    expect(content).toMatchObject([{ type: 'thinking' }, { type: 'text' }])
  })

  test('embeddings: not offered', async () => {
    const embeddings = new GoogleGenerativeAIEmbeddings({ ...common, baseUrl: await addressOf() })
    await expect(embeddings.embedQuery('hi')).rejects.toMatchObject({ status: 404 })
  })
})
