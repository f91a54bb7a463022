import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, jsonSchema, Output, isStepCount, streamText, tool, type LanguageModel } from 'ai'
import { describe, expect, test } from 'vitest'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { all, dot } from './all.ts'

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

  test('tools in a stream', async () => {
    const model = modelAt((await runningSandbox()).url)
    const prompt = 'weather in Rome?'
    const { fullStream, text } = streamText({
      model,
      tools: { weather },
      stopWhen: isStepCount(3),
      prompt,
      ...once,
    })
    const types = new Set((await all(fullStream)).map(({ type }) => type))
    expect([...types]).toEqual(expect.arrayContaining(['tool-call', 'tool-result', 'text-delta', 'finish']))
    expect(await text).toMatch(/sunny in ./)
  })

  test('choices and arrays', async () => {
    const model = modelAt((await runningSandbox()).url)
    const choice = Output.choice({ options: ['red', 'blue'] })
    expect(['red', 'blue']).toContain(
      (await generateText({ model, output: choice, prompt: 'x', ...once })).output,
    )
    const element = jsonSchema<string>({ type: 'string' })
    const { output } = await generateText({ model, output: Output.array({ element }), prompt: 'x', ...once })
    expect(output[0]).toEqual(expect.any(String))
  })

  test('pictures and files in a prompt', async () => {
    const model = modelAt((await runningSandbox()).url)
    const content = [
      { type: 'text' as const, text: 'what is this?' },
      { type: 'file' as const, data: dot.split(',')[1]!, mediaType: 'image/png' },
      { type: 'file' as const, data: 'JVBERg==', mediaType: 'application/pdf', filename: 'a.pdf' },
    ]
    const { text } = await generateText({ model, messages: [{ role: 'user', content }], ...once })
    expect(text).toContain('“what is this?”')
  })

  test('an abort', async () => {
    const model = modelAt((await runningSandbox()).url)
    const stop = new AbortController()
    const prompt = 'sandbox:long'
    const { fullStream } = streamText({ model, prompt, abortSignal: stop.signal, ...once })
    const types: string[] = []
    for await (const { type } of fullStream) {
      types.push(type)
      if (type === 'text-delta') stop.abort()
    }
    expect(types.at(-1)).toBe('abort')
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
