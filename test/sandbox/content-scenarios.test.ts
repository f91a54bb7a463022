import { GoogleGenAI, type GenerateContentConfig } from '@google/genai'
import { expect, test } from 'vitest'
import { imageInfoHeadBytes, readImageInfo } from '../../src/files/image-info.ts'
import { runningSandbox } from '../support/running-sandbox.ts'

async function ask(prompt: string, config: GenerateContentConfig = {}) {
  const sandbox = await runningSandbox()
  const client = new GoogleGenAI({ apiKey: 'any', httpOptions: { baseUrl: sandbox.url } })
  const response = await client.models.generateContent({ model: 'm', contents: prompt, config })
  return { response, candidate: response.candidates?.[0], usage: response.usageMetadata! }
}

test('sandbox:citations quotes sentences by their bytes, with address and licence', async () => {
  const { candidate, response } = await ask('Name a river sandbox:citations')
  const { citations } = candidate!.citationMetadata!
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
  expect(candidate!.content!.parts).toHaveLength(1)
  const info = readImageInfo(Buffer.from(response.data!, 'base64').subarray(0, imageInfoHeadBytes))
  expect(info).toMatchObject({ mediaType: 'image/png', width: 114, height: 64 })
  expect(usage.candidatesTokenCount).toBe(64)
  const both = await ask('A boat', { responseModalities: ['TEXT', 'IMAGE'] })
  expect(both.candidate!.content!.parts!.map((part) => Object.keys(part)[0])).toEqual(['text', 'inlineData'])
})
