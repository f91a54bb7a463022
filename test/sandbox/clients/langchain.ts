import { HumanMessage, type AIMessage, type AIMessageChunk } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatGoogleGenerativeAI } from '@langchain/google-genai'
import { ChatOpenAI } from '@langchain/openai'
import { addressOf, all, common, dot, pdf, place, question, weatherIn } from './all.ts'

/** The message that the chunks of a stream make up. */
export const joined = <Chunk extends AIMessageChunk>(chunks: readonly Chunk[]) =>
  chunks.reduce((whole, chunk) => whole.concat(chunk) as Chunk)

export const openaiChat = async (more: object = {}) =>
  new ChatOpenAI({
    model: 'sandbox-text',
    useResponsesApi: true,
    configuration: { baseURL: `${await addressOf()}/v1` },
    ...common,
    ...more,
  })
export const googleChat = async (more: object = {}) =>
  new ChatGoogleGenerativeAI({ model: 'sandbox-text', baseUrl: await addressOf(), ...common, ...more })

function ofLangChain(at: typeof openaiChat | typeof googleChat) {
  const weather = tool(weatherIn, { name: 'weather', description: 'the weather', schema: place })
  const asked = new HumanMessage('weather in Rome?')
  const answered = async (call: AIMessage) => [asked, call, await weather.invoke(call.tool_calls![0]!)]
  const schema = { title: 'Place', ...place }
  const source = { source_type: 'base64', mime_type: 'application/pdf', data: pdf }
  const content = [
    { type: 'text', text: question },
    { type: 'image_url', image_url: { url: dot } },
    { type: 'file', ...source, metadata: { filename: 'a.pdf' } },
  ]
  return {
    at,
    text: async () => (await (await at()).invoke('hi')).text,
    pieces: async () => (await all(await (await at()).stream('hi'))).map(({ text }) => text),
    object: async () => (await at()).withStructuredOutput(schema).invoke('a place'),
    async tools() {
      const model = await at()
      const call = await model.bindTools([weather], { tool_choice: 'any' }).invoke([asked])
      return (await model.bindTools([weather]).invoke(await answered(call as AIMessage))).text
    },
    async streamedTools() {
      const model = (await at()).bindTools([weather])
      const call = joined(await all(await model.stream([asked])))
      return joined(await all(await model.stream(await answered(call)))).text
    },
    // The Google client knows by its name whether a model takes pictures.
    parts: async () =>
      (await (await at({ model: 'gemini-2.5-pro' })).invoke([new HumanMessage({ content })])).text,
    objectOfCall: async () =>
      (await at()).withStructuredOutput(schema, { method: 'functionCalling' }).invoke('a place'),
  }
}
export const langChains = [
  ['@langchain/openai', ofLangChain(openaiChat)],
  ['@langchain/google-genai', ofLangChain(googleChat)],
] as const
