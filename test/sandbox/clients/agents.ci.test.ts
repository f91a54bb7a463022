import {
  Agent,
  computerTool,
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
import { all, dot } from './all.ts'

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

const weatherOptions = {
  name: 'weather',
  description: 'the weather in a city',
  strict: false as const,
  parameters: {
    type: 'object' as const,
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: true as const,
  },
  execute: (input: unknown) => `sunny in ${(input as { city: string }).city}`,
}
const weather = tool(weatherOptions)

test('tools', async () => {
  const agent = new Agent({ name: 'A', tools: [weather], modelSettings: required })
  const { finalOutput } = await (await runner()).run(agent, 'weather in Rome?', { maxTurns: 3 })
  expect(finalOutput).toMatch(/sunny in ./)
})

test('tools in a stream', async () => {
  const agent = new Agent({ name: 'A', tools: [weather] })
  const stream = await (await runner()).run(agent, 'weather in Rome?', { stream: true })
  const names = (await all(stream)).flatMap((event) => ('name' in event ? [event.name] : []))
  expect(names).toEqual(['tool_called', 'tool_output', 'message_output_created'])
  expect(stream.finalOutput).toMatch(/sunny in ./)
})

test('approval of functions, in a stream', async () => {
  const asking = tool({ ...weatherOptions, needsApproval: true })
  const agent = new Agent({ name: 'A', tools: [asking] })
  const runs = await runner()
  const first = await runs.run(agent, 'weather in Rome?', { stream: true })
  await all(first)
  expect(first.interruptions).toHaveLength(1)
  first.state.approve(first.interruptions[0]!)
  const second = await runs.run(agent, first.state, { stream: true })
  await all(second)
  expect(second.finalOutput).toMatch(/sunny/)
})

test('pictures and files in a prompt', async () => {
  const content = [
    { type: 'input_text' as const, text: 'what is this?' },
    { type: 'input_image' as const, image: dot },
    { type: 'input_file' as const, file: 'data:application/pdf;base64,JVBERg==', filename: 'a.pdf' },
  ]
  const { finalOutput } = await (await runner()).run(new Agent({ name: 'A' }), [{ role: 'user', content }])
  expect(finalOutput).toContain('“what is this?”')
})

test('handoffs', async () => {
  const second = new Agent({ name: 'B', handoffDescription: 'knows everything' })
  const first = Agent.create({ name: 'A', handoffs: [second], modelSettings: required })
  const { lastAgent, finalOutput } = await (await runner()).run(first, 'hi')
  expect([lastAgent?.name, finalOutput]).toEqual(['B', expect.stringMatching(/^\[sandbox\] /)])
})

test('previousResponseId', async () => {
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

test.each<[string, HostedTool, type: string]>([
  ['web search', webSearchTool(), 'web_search_call'],
  ['file search', fileSearchTool('vs_1'), 'file_search_call'],
  ['code interpreter', codeInterpreterTool(), 'code_interpreter_call'],
  ['image generation', imageGenerationTool(), 'image_generation_call'],
  ['remote tools', hostedMcpTool({ serverLabel: 'maps', serverUrl: 'https://maps.example/mcp' }), 'mcp_call'],
])('%s', async (_, hostedTool, name) => {
  const agent = new Agent({ name: 'A', tools: [hostedTool], modelSettings: required })
  const { newItems, finalOutput } = await (await runner()).run(agent, 'find out')
  expect(toolCalls(newItems)).toContain(name)
  expect(finalOutput).toMatch(/^\[sandbox\] /)
  const stream = await (await runner()).run(agent, 'find out', { stream: true })
  const names = (await all(stream)).flatMap((event) => ('name' in event ? [event.name] : []))
  expect(names).toContain('tool_called')
  expect(stream.finalOutput).toBe(finalOutput)
})

const nothing = async () => {}
const computer = {
  environment: 'browser' as const,
  dimensions: [100, 100] as [number, number],
  screenshot: async () => dot.split(',')[1]!,
  click: nothing,
  doubleClick: nothing,
  scroll: nothing,
  type: nothing,
  wait: nothing,
  move: nothing,
  keypress: nothing,
  drag: nothing,
}

test('a computer', async () => {
  const agent = new Agent({ name: 'A', tools: [computerTool({ computer })], modelSettings: required })
  const { newItems, finalOutput } = await (await runner()).run(agent, 'find out', { maxTurns: 3 })
  const calls = newItems.flatMap((item) => (item.type === 'tool_call_item' ? [item.rawItem.type] : []))
  expect(calls).toEqual(['computer_call'])
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

test('chat completions: not offered', async () => {
  const { url } = await runningSandbox()
  const modelProvider = new OpenAIProvider({ apiKey: 'any', baseURL: `${url}/v1`, useResponses: false })
  const asked = new Runner({ modelProvider, model: 'm', tracingDisabled: true }).run(
    new Agent({ name: 'A' }),
    'hi',
  )
  await expect(asked).rejects.toMatchObject({ status: 404 })
})
