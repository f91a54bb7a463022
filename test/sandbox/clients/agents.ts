import * as agents from '@openai/agents'
import { addressOf, all, dot, pdf, place, question, weatherIn } from './all.ts'

export async function runner(useResponses = true) {
  const baseURL = `${await addressOf()}/v1`
  const modelProvider = new agents.OpenAIProvider({ apiKey: 'any', baseURL, useResponses })
  return new agents.Runner({ modelProvider, model: 'sandbox-text', tracingDisabled: true })
}
export const agent = (more: Partial<agents.AgentOptions> = {}) => new agents.Agent({ name: 'A', ...more })
export const required = { toolChoice: 'required' } as const
export const weatherOptions = {
  name: 'weather',
  description: 'the weather in a city',
  strict: false,
  parameters: { ...place, additionalProperties: true },
  execute: weatherIn,
} as const

export const ofAgents = {
  text: async () => (await (await runner()).run(agent(), 'hi')).finalOutput,
  pieces: async () => all((await (await runner()).run(agent(), 'hi', { stream: true })).toTextStream()),
  async object() {
    const outputType = { type: 'json_schema', name: 'place', strict: true, schema: place } as const
    return (await (await runner()).run(new agents.Agent({ name: 'A', outputType }), 'a place')).finalOutput
  },
  async tools() {
    const asking = agent({ tools: [agents.tool(weatherOptions)], modelSettings: required })
    return (await (await runner()).run(asking, 'weather in Rome?', { maxTurns: 3 })).finalOutput
  },
  async streamedTools() {
    const asking = agent({ tools: [agents.tool(weatherOptions)] })
    const stream = await (await runner()).run(asking, 'weather in Rome?', { stream: true })
    await all(stream)
    return stream.finalOutput
  },
  async parts() {
    const content = [
      { type: 'input_text' as const, text: question },
      { type: 'input_image' as const, image: dot },
      { type: 'input_file' as const, file: `data:application/pdf;base64,${pdf}`, filename: 'a.pdf' },
    ]
    return (await (await runner()).run(agent(), [{ role: 'user', content }])).finalOutput
  },
}
