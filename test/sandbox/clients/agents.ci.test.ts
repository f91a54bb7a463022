import * as agents from '@openai/agents'
import { expect, test } from 'vitest'
import { agent, required, runner, weatherOptions } from './agents.ts'
import { all, dotBase64, server } from './all.ts'

test('approval of functions, in a stream', async () => {
  const asking = agent({ tools: [agents.tool({ ...weatherOptions, needsApproval: true })] })
  const runs = await runner()
  const first = await runs.run(asking, 'weather in Rome?', { stream: true })
  await all(first)
  expect(first.interruptions).toHaveLength(1)
  first.state.approve(first.interruptions[0]!)
  const second = await runs.run(asking, first.state, { stream: true })
  await all(second)
  expect(second.finalOutput).toMatch(/sunny/)
})

test('handoffs', async () => {
  const second = new agents.Agent({ name: 'B', handoffDescription: 'knows everything' })
  const first = agents.Agent.create({ name: 'A', handoffs: [second], modelSettings: required })
  const { lastAgent, finalOutput } = await (await runner()).run(first, 'hi')
  expect([lastAgent?.name, finalOutput]).toEqual(['B', expect.stringMatching(/^\[sandbox\] /)])
})

test('previousResponseId', async () => {
  const runs = await runner()
  const { lastResponseId: previousResponseId } = await runs.run(agent(), 'x'.repeat(400))
  const { rawResponses } = await runs.run(agent(), 'again', { previousResponseId: previousResponseId! })
  expect(rawResponses[0]!.usage.inputTokens).toBeGreaterThan(100)
})

const nothing = async () => {}
const clicks = { click: nothing, doubleClick: nothing, scroll: nothing, move: nothing, drag: nothing }
const actions = { ...clicks, type: nothing, keypress: nothing, wait: nothing }
const screen = { environment: 'browser' as const, dimensions: [100, 100] as [number, number] }
const computer = { ...screen, ...actions, screenshot: async () => dotBase64 }
const approving = { requireApproval: 'always', onApproval: async () => ({ approve: true }) } as const

test.each<[string, agents.Tool, type: string]>([
  ['web search', agents.webSearchTool(), 'web_search_call'],
  ['file search', agents.fileSearchTool('vs_1'), 'file_search_call'],
  ['code interpreter', agents.codeInterpreterTool(), 'code_interpreter_call'],
  ['image generation', agents.imageGenerationTool(), 'image_generation_call'],
  ['remote tools', agents.hostedMcpTool(server), 'mcp_call'],
  ['approval of remote tools', agents.hostedMcpTool({ ...server, ...approving }), 'mcp_approval_request'],
  ['a computer', agents.computerTool({ computer }), 'computer_call'],
])('%s', async (_, tool, type) => {
  const asking = agent({ tools: [tool], modelSettings: required })
  const whole = await (await runner()).run(asking, 'find out', { maxTurns: 3 })
  const types = whole.newItems.flatMap(({ rawItem }) => [rawItem?.type, rawItem?.providerData?.['type']])
  expect(types).toContain(type)
  expect(whole.finalOutput).toMatch(/^\[sandbox\] /)
  const stream = await (await runner()).run(asking, 'find out', { stream: true, maxTurns: 3 })
  await all(stream)
  expect(stream.finalOutput).toBe(whole.finalOutput)
})

test('chat completions: not offered', async () => {
  await expect((await runner(false)).run(agent(), 'hi')).rejects.toMatchObject({ status: 404 })
})
