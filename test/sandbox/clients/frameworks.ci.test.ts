import { describe, expect, test } from 'vitest'
import { ofAgents } from './agents.ts'
import { aiSdks } from './ai-sdk.ts'
import { langChains } from './langchain.ts'

// What all frameworks do; what only some do is in their own files.
describe.each([...aiSdks, ...langChains, ['@openai/agents', ofAgents] as const])('%s', (_, client) => {
  test('text', async () => {
    expect(await client.text()).toMatch(/^\[sandbox\] /)
  })

  test('streamed text', async () => {
    const pieces = await client.pieces()
    expect(pieces.length).toBeGreaterThan(5)
    expect(pieces.join('')).toMatch(/^\[sandbox\] /)
  })

  test('objects', async () => {
    expect(await client.object()).toEqual({ city: expect.any(String) })
  })

  test('tools', async () => {
    expect(await client.tools()).toMatch(/sunny in ./)
  })

  test('tools in a stream', async () => {
    expect(await client.streamedTools()).toMatch(/sunny in ./)
  })

  test('pictures and files in a prompt', async () => {
    expect(await client.parts()).toContain('“what is this?”')
  })
})
