import {
  Agent,
  codeInterpreterTool,
  fileSearchTool,
  hostedMcpTool,
  imageGenerationTool,
  OpenAIProvider,
  type RunItem,
  Runner,
  tool,
  webSearchTool,
  type HostedTool,
  type JsonSchemaDefinition,
} from '@openai/agents'
import { expect, test } from 'vitest'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { all } from './all.ts'

async function runner(): Promise<Runner> {
  const { url } = await runningSandbox()
  const modelProvider = new OpenAIProvider({ apiKey: 'any', baseURL: `${url}/v1`, useResponses: true })
  return new Runner({ modelProvider, model: 'sandbox-text', tracingDisabled: true })
}

const required = { toolChoice: 'required' } as const

test('text', async () => {
  const { finalOutput } = await (await runner()).run(new Agent({ name: 'A' }), 'hi')
  expect(finalOutput).toMatch(/^\[sandbox\] /)
})

test('streamed text', async () => {
  const stream = await (await runner()).run(new Agent({ name: 'A' }), 'hi', { stream: true })
  const pieces = await all(stream.toTextStream())
  await stream.completed
  expect(pieces.length).toBeGreaterThan(5)
  expect(pieces.join('')).toBe(stream.finalOutput)
})

test('objects', async () => {
  const outputType: JsonSchemaDefinition = {
    type: 'json_schema',
    name: 'boat',
    strict: true,
    schema: {
      type: 'object',
      properties: { name: { type: 'string' } },
      required: ['name'],
      additionalProperties: false,
    },
  }
  const { finalOutput } = await (await runner()).run(new Agent({ name: 'A', outputType }), 'a boat')
  expect(finalOutput).toEqual({ name: expect.any(String) })
})

test('tools', async () => {
  const weather = tool({
    name: 'weather',
    description: 'the weather in a city',
    strict: false,
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: true,
    },
    execute: (input) => `sunny in ${(input as { city: string }).city}`,
  })
  const agent = new Agent({ name: 'A', tools: [weather], modelSettings: required })
  const { finalOutput } = await (await runner()).run(agent, 'weather in Rome?', { maxTurns: 3 })
  expect(finalOutput).toMatch(/sunny in ./)
})

test('handoffs', async () => {
  const second = new Agent({ name: 'B', handoffDescription: 'knows everything' })
  const first = Agent.create({ name: 'A', handoffs: [second], modelSettings: required })
  const { lastAgent, finalOutput } = await (await runner()).run(first, 'hi')
  expect([lastAgent?.name, finalOutput]).toEqual(['B', expect.stringMatching(/^\[sandbox\] /)])
})

test('conversations by previous_response_id', async () => {
  const runs = await runner()
  const { lastResponseId } = await runs.run(new Agent({ name: 'A' }), 'hi')
  const again = await runs.run(new Agent({ name: 'A' }), 'again', { previousResponseId: lastResponseId! })
  expect(again.finalOutput).toMatch(/^\[sandbox\] /)
})

test('temperature with top_p', async () => {
  const agent = new Agent({ name: 'A', modelSettings: { temperature: 0.2, topP: 0.4 } })
  expect((await (await runner()).run(agent, 'hi')).finalOutput).toMatch(/^\[sandbox\] /)
})

/** The types of items on the wire. */
const toolCalls = (items: readonly RunItem[]) =>
  items.flatMap((item) => {
    const type: unknown = item.type === 'tool_call_item' ? item.rawItem.providerData?.['type'] : undefined
    return type === undefined ? [] : [type]
  })

const hosted: readonly [string, HostedTool, string][] = [
  ['web search', webSearchTool(), 'web_search_call'],
  ['file search', fileSearchTool('vs_1'), 'file_search_call'],
  ['code interpreter', codeInterpreterTool(), 'code_interpreter_call'],
  ['image generation', imageGenerationTool(), 'image_generation_call'],
  ['remote tools', hostedMcpTool({ serverLabel: 'maps', serverUrl: 'https://maps.example/mcp' }), 'mcp_call'],
]

test.each(hosted)('%s', async (_, hostedTool, name) => {
  const agent = new Agent({ name: 'A', tools: [hostedTool], modelSettings: required })
  const { newItems, finalOutput } = await (await runner()).run(agent, 'find out')
  expect(toolCalls(newItems)).toContain(name)
  expect(finalOutput).toMatch(/^\[sandbox\] /)
})

test('approval of remote tools', async () => {
  const maps = hostedMcpTool({
    serverLabel: 'maps',
    serverUrl: 'https://maps.example/mcp',
    requireApproval: 'always',
    onApproval: async () => ({ approve: true }),
  })
  const agent = new Agent({ name: 'A', tools: [maps], modelSettings: required })
  const { newItems, finalOutput } = await (await runner()).run(agent, 'find out')
  expect(toolCalls(newItems)).toEqual(expect.arrayContaining(['mcp_approval_request', 'mcp_call']))
  expect(finalOutput).toMatch(/^\[sandbox\] /)
})

test('a refused key', async () => {
  const { url } = await runningSandbox()
  const modelProvider = new OpenAIProvider({ apiKey: 'invalid', baseURL: `${url}/v1`, useResponses: true })
  const asked = new Runner({ modelProvider, model: 'm', tracingDisabled: true }).run(
    new Agent({ name: 'A' }),
    'hi',
  )
  await expect(asked).rejects.toMatchObject({ status: 401 })
})
