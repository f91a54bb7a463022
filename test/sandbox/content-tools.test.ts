import { FunctionCallingConfigMode, GoogleGenAI, type GenerateContentConfig, type Tool } from '@google/genai'
import { expect, test } from 'vitest'
import { imageInfoHeadBytes, readImageInfo } from '../../src/files/image-info.ts'
import { runningSandbox } from '../support/running-sandbox.ts'

/** The candidate of a whole answer, through the official client. */
async function ask(prompt: string, config: GenerateContentConfig) {
  const { url: baseUrl } = await runningSandbox()
  const client = new GoogleGenAI({ apiKey: 'any', httpOptions: { baseUrl } })
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
  const web = { uri: 'https://www.example.com/sandbox/1', title: 'example.com' }
  expect(grounding.groundingChunks![0]!.web).toEqual(web)
  const bytes = Buffer.from(text)
  const supports = grounding.groundingSupports!
  expect(supports.length).toBeGreaterThan(1)
  for (const { segment, groundingChunkIndices, confidenceScores } of supports) {
    expect(bytes.subarray(segment!.startIndex, segment!.endIndex).toString()).toBe(segment!.text)
    expect(segment!.text).toMatch(/^[A-Z].*[.]$/)
    expect([0, 1]).toContain(groundingChunkIndices![0])
    expect(confidenceScores).toHaveLength(groundingChunkIndices!.length)
  }
  const { promptTokenCount, candidatesTokenCount, toolUsePromptTokenCount, totalTokenCount } = usage
  expect(toolUsePromptTokenCount).toBeGreaterThan(0)
  expect(totalTokenCount).toBe(promptTokenCount! + candidatesTokenCount! + toolUsePromptTokenCount!)
})

test.for([
  ['', 'SUCCESS'],
  [' sandbox:urlContext:failed', 'ERROR'],
])('urlContext reads the addresses of the prompt%s: %s', async ([words, status]) => {
  const prompt = `Compare https://example.com/a, and (https://example.com/b).${words}`
  const { candidate } = await grounded({ urlContext: {} }, prompt)
  const urls = ['https://example.com/a', 'https://example.com/b']
  const urlRetrievalStatus = `URL_RETRIEVAL_STATUS_${status}`
  const urlMetadata = urls.map((retrievedUrl) => ({ retrievedUrl, urlRetrievalStatus }))
  expect(candidate.urlContextMetadata!.urlMetadata).toEqual(urlMetadata)
  const uris = candidate.groundingMetadata!.groundingChunks?.map(({ web }) => web!.uri)
  expect(uris).toEqual(status === 'SUCCESS' ? urls : undefined)
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

test('function calls: VALIDATED waits for a name, several names call several, thinking signs them', async () => {
  const functionDeclarations = ['get_rain', 'get_wind'].map((name) => ({ name }))
  const config: GenerateContentConfig = {
    tools: [{ functionDeclarations }],
    toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.VALIDATED } },
    thinkingConfig: { includeThoughts: true },
  }
  expect((await ask('Hello', config)).response.functionCalls).toBeUndefined()
  const { response, candidate } = await ask('Use get_rain and get_wind', config)
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
})
