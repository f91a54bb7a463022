import { GoogleGenAI, type GenerateContentConfig, type Tool } from '@google/genai'
import { expect, test } from 'vitest'
import type { Sandbox } from '../../src/sandbox/start-sandbox.ts'
import { imageInfoHeadBytes, readImageInfo } from '../../src/files/image-info.ts'
import { call, eventsOf, generate, runningSandbox, type Json } from '../support/running-sandbox.ts'

const clientOf = (sandbox: Sandbox) =>
  new GoogleGenAI({ apiKey: 'any', httpOptions: { baseUrl: sandbox.url } })

/** The candidate of a whole answer, through the official client. */
async function ask(prompt: string, config: GenerateContentConfig) {
  const client = clientOf(await runningSandbox())
  const response = await client.models.generateContent({ model: 'sandbox-text', contents: prompt, config })
  return { response, candidate: response.candidates![0]!, usage: response.usageMetadata! }
}

const grounded = async (tool: Tool, prompt = 'Name a river') => {
  const { candidate, response, usage } = await ask(prompt, { tools: [tool] })
  return { grounding: candidate.groundingMetadata!, text: response.text!, usage, candidate }
}

test('googleSearch grounds sentences of the text in sources, by bytes', async () => {
  const { grounding, text, usage } = await grounded({ googleSearch: {} })
  expect(grounding.webSearchQueries).toEqual(['Name a river'])
  expect(grounding.searchEntryPoint!.renderedContent).toContain('>Name a river</a>')
  expect(grounding.groundingChunks!.map(({ web }) => web)).toEqual([
    { uri: 'https://www.example.com/sandbox/1', title: 'example.com' },
    { uri: 'https://www.example.org/sandbox/2', title: 'example.org' },
  ])
  const bytes = Buffer.from(text)
  const supports = grounding.groundingSupports!
  expect(supports.length).toBeGreaterThan(1)
  for (const { segment, groundingChunkIndices, confidenceScores } of supports) {
    expect(bytes.subarray(segment!.startIndex, segment!.endIndex).toString()).toBe(segment!.text)
    expect(segment!.text).toMatch(/^[A-Z].*[.]$/)
    expect([0, 1]).toContain(groundingChunkIndices![0])
    expect(confidenceScores).toHaveLength(groundingChunkIndices!.length)
  }
  expect(usage.toolUsePromptTokenCount).toBeGreaterThan(0)
  const { promptTokenCount, candidatesTokenCount, toolUsePromptTokenCount, totalTokenCount } = usage
  expect(totalTokenCount).toBe(promptTokenCount! + candidatesTokenCount! + toolUsePromptTokenCount!)
})

test.for([
  ['', 'SUCCESS'],
  [' sandbox:urlContext:failed', 'ERROR'],
])('urlContext reads the addresses of the prompt%s: %s', async ([words, status]) => {
  const prompt = `Compare https://example.com/a, and (https://example.com/b).${words}`
  const { candidate } = await grounded({ urlContext: {} }, prompt)
  expect(candidate.urlContextMetadata!.urlMetadata).toEqual(
    ['https://example.com/a', 'https://example.com/b'].map((retrievedUrl) => ({
      retrievedUrl,
      urlRetrievalStatus: `URL_RETRIEVAL_STATUS_${status}`,
    })),
  )
  const uris = candidate.groundingMetadata!.groundingChunks?.map(({ web }) => web!.uri)
  expect(uris).toEqual(status === 'SUCCESS' ? ['https://example.com/a', 'https://example.com/b'] : undefined)
  const { candidate: none } = await grounded({ urlContext: {} }, 'Compare nothing')
  expect([none.urlContextMetadata, none.groundingMetadata]).toEqual([undefined, undefined])
})

test.for([
  ['', 'print(sum(range(1, 11)))', { outcome: 'OUTCOME_OK', output: '55\n' }],
  [':failed', 'print(1 / 0)', { outcome: 'OUTCOME_FAILED', output: 'ZeroDivisionError: division by zero\n' }],
] as const)(
  'codeExecution%s shows the code and its result before the text',
  async ([variant, code, result]) => {
    const prompt = `Add numbers sandbox:codeExecution${variant}`
    const { candidate, response } = await ask(prompt, { tools: [{ codeExecution: {} }] })
    const [first, second, third] = candidate.content!.parts!
    expect(first!.executableCode).toEqual({ language: 'PYTHON', code, id: expect.any(String) })
    expect(second!.codeExecutionResult).toEqual({ ...result, id: first!.executableCode!.id })
    expect(third!.text).toContain('[sandbox]')
    expect(response.executableCode).toBe(code)
  },
)

test('of several tools the prompt names those that are used; an offered one needs no name', async () => {
  const tools = [{ googleSearch: {} }, { codeExecution: {} }]
  const both = await ask('Add', { tools })
  expect(both.candidate.groundingMetadata).toBeDefined()
  expect(both.candidate.content!.parts!.some((part) => part.executableCode)).toBe(true)
  const one = await ask('Add sandbox:codeExecution', { tools })
  expect(one.candidate.groundingMetadata).toBeUndefined()
  const none = await ask('Add sandbox:googleSearch', {})
  expect(none.candidate.groundingMetadata).toBeUndefined()
})

test('a stream tells the same as a whole answer, the metadata in its last chunk', async () => {
  const more = { tools: [{ googleSearch: {} }, { codeExecution: {} }] }
  const whole = await call(await runningSandbox(), '/v1beta/models/sandbox-text:generateContent', {
    contents: [{ parts: [{ text: 'Add' }] }],
    ...more,
  })
  const chunks = eventsOf(await generate(await runningSandbox(), 'Add', more))
  const candidates = chunks.map(({ candidates: [candidate] }) => candidate)
  const [{ content, ...ending }] = whole.json.candidates
  expect(candidates.at(-1)).toMatchObject(ending)
  expect(candidates.slice(0, -1).some((candidate) => candidate.groundingMetadata)).toBe(false)
  const parts = candidates.flatMap((candidate) => candidate.content.parts)
  expect(parts.slice(0, 2)).toEqual(content.parts.slice(0, 2))
  expect(parts.slice(2).map(({ text }: Json) => text)).toSatisfy(
    (texts: string[]) => texts.join('') === content.parts[2].text,
  )
  expect(chunks.at(-1)!.usageMetadata).toEqual(whole.json.usageMetadata)
})

test('function calls: VALIDATED waits for a name, several names call several, thinking signs them', async () => {
  const functionDeclarations = ['get_rain', 'get_wind'].map((name) => ({ name }))
  const config = (mode: string, more = {}): GenerateContentConfig => ({
    tools: [{ functionDeclarations }],
    toolConfig: { functionCallingConfig: { mode: mode as never } },
    ...more,
  })
  expect((await ask('Hello', config('VALIDATED'))).response.functionCalls).toBeUndefined()
  const { response, candidate } = await ask(
    'Use get_rain and get_wind',
    config('VALIDATED', { thinkingConfig: { includeThoughts: true } }),
  )
  expect(response.functionCalls!.map(({ name }) => name)).toEqual(['get_rain', 'get_wind'])
  const signed = candidate.content!.parts!.filter((part) => part.functionCall)
  expect(signed.every((part) => /^[\w+/]+=*$/.test(part.thoughtSignature ?? ''))).toBe(true)
})

test('sandbox:citations quotes sentences by their bytes, with address and licence', async () => {
  const { candidate, response } = await ask('Name a river sandbox:citations', {})
  const { citations } = candidate.citationMetadata!
  const bytes = Buffer.from(response.text!)
  expect(citations!.length).toBeGreaterThan(1)
  expect(citations![0]).toMatchObject({ uri: 'https://www.example.com/source/1', license: 'mit' })
  for (const { startIndex, endIndex } of citations!) {
    expect(bytes.subarray(startIndex, endIndex).toString()).toMatch(/^[A-Z][^.]*\.$/)
  }
})

test('an image alone, in the wanted shape, and its tokens', async () => {
  const config = { responseModalities: ['IMAGE'], imageConfig: { aspectRatio: '16:9' } }
  const { response, candidate, usage } = await ask('A boat', config)
  expect(candidate.content!.parts).toHaveLength(1)
  const info = readImageInfo(Buffer.from(response.data!, 'base64').subarray(0, imageInfoHeadBytes))
  expect(info).toMatchObject({ mediaType: 'image/png', width: 114, height: 64 })
  expect(usage.candidatesTokenCount).toBe(64)
  const both = await ask('A boat', { responseModalities: ['TEXT', 'IMAGE'] })
  expect(both.candidate.content!.parts!.map((part) => Object.keys(part)[0])).toEqual(['text', 'inlineData'])
})
