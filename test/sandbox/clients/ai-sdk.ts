import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import * as ai from 'ai'
import { addressOf, all, common, dotBase64, pdf, place, question, weatherIn } from './all.ts'

export const openaiSdk = async () => createOpenAI({ ...common, baseURL: `${await addressOf()}/v1` })
export const googleSdk = async () =>
  createGoogleGenerativeAI({ ...common, baseURL: `${await addressOf()}/v1beta` })

function ofAiSdk(sdk: () => Promise<(name: string) => ai.LanguageModel>) {
  const at = async () => ({ model: (await sdk())('sandbox-text'), maxRetries: 0 })
  const weather = ai.tool({ inputSchema: ai.jsonSchema(place), execute: async (input) => weatherIn(input) })
  const asking = { tools: { weather }, stopWhen: ai.isStepCount(3), prompt: 'weather in Rome?' }
  const required = ({ stepNumber }: { stepNumber: number }) =>
    ({ toolChoice: stepNumber === 0 ? 'required' : 'auto' }) as const
  const output = ai.Output.object({ schema: ai.jsonSchema(place) })
  const content = [
    { type: 'text' as const, text: question },
    { type: 'file' as const, data: dotBase64, mediaType: 'image/png' },
    { type: 'file' as const, data: pdf, mediaType: 'application/pdf', filename: 'a.pdf' },
  ]
  return {
    at,
    text: async () => (await ai.generateText({ ...(await at()), prompt: 'hi' })).text,
    pieces: async () => all(ai.streamText({ ...(await at()), prompt: 'hi' }).textStream),
    object: async () => (await ai.generateText({ ...(await at()), output, prompt: 'a place' })).output,
    tools: async () => (await ai.generateText({ ...(await at()), ...asking, prepareStep: required })).text,
    streamedTools: async () => (await all(ai.streamText({ ...(await at()), ...asking }).textStream)).join(''),
    parts: async () =>
      (await ai.generateText({ ...(await at()), messages: [{ role: 'user', content }] })).text,
    lastOfStream: async () =>
      (await all(ai.streamText({ ...(await at()), output, prompt: 'a place' }).partialOutputStream)).at(-1),
  }
}
export const aiSdks = [
  ['@ai-sdk/openai', ofAiSdk(openaiSdk)],
  ['@ai-sdk/google', ofAiSdk(googleSdk)],
] as const
