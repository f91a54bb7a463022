import { describe, expect, test } from 'vitest'
import { respond, runningSandbox, type Json } from '../support/running-sandbox.ts'
import { json } from '../support/server-replies.ts'
import { documentOf, isInteger } from './both-sides.ts'

// "Resources and their fields" and "States and transitions" of the specification, row by row: what the sandbox
// answers, and what the program makes of an answer that has it.

const message = {
  type: 'message',
  id: 'msg_1',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'Hello', annotations: [] }],
}
const usage = {
  input_tokens: 5,
  input_tokens_details: { cached_tokens: 1 },
  output_tokens: 4,
  output_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 9,
}

describe('Response object', () => {
  const asked = {
    instructions: 'be kind',
    metadata: { a: 'b' },
    user: 'ann',
    safety_identifier: 'hash',
    prompt_cache_key: 'key-1',
    service_tier: 'scale',
    max_output_tokens: 100,
    max_tool_calls: 3,
    top_logprobs: 2,
    reasoning: { effort: 'low', summary: 'auto' },
    conversation: 'conv_1',
    prompt: 'some words',
    truncation: 'auto',
    parallel_tool_calls: false,
    temperature: 0.5,
    top_p: 0.5,
    text: { format: { type: 'text' }, verbosity: 'low' },
    tools: [{ type: 'web_search' }],
    tool_choice: 'none',
    store: false,
  }
  const response = {
    ...asked,
    id: 'resp_1',
    object: 'response',
    created_at: 1_700_000_000,
    status: 'completed',
    error: null,
    incomplete_details: null,
    model: 'm',
    output: [message],
    previous_response_id: 'resp_0',
    background: false,
    usage,
    conversation: { id: 'conv_1' },
  }

  test('the sandbox gives back what was asked, and adds the other fields', async () => {
    const { status, json: answer } = await respond(await runningSandbox(), 'hi', asked)
    expect(status).toBe(200)
    expect(answer).toMatchObject({
      ...asked,
      id: expect.any(String),
      object: 'response',
      created_at: expect.any(Number),
      status: 'completed',
      error: null,
      incomplete_details: null,
      model: expect.any(String),
      background: false,
      conversation: { id: 'conv_1' },
      usage: {
        input_tokens: isInteger,
        input_tokens_details: { cached_tokens: isInteger },
        output_tokens: isInteger,
        output_tokens_details: { reasoning_tokens: isInteger },
        total_tokens: answer.usage.input_tokens + answer.usage.output_tokens,
      },
    })
    expect(answer.output.at(-1)).toEqual({
      type: 'message',
      id: expect.any(String),
      status: 'completed',
      role: 'assistant',
      content: [expect.objectContaining({ type: 'output_text', text: expect.any(String), annotations: [] })],
    })
    // An aggregate of the client is no field of the wire.
    expect(answer).not.toHaveProperty('output_text')
  })

  test('the program keeps every field', async () => {
    const { code, document } = await documentOf(['respond', '--no-stream', 'hi'], json(response))
    expect([code, document.text, document.response]).toEqual([0, 'Hello', response])
    expect(document.usage).toMatchObject({
      input_tokens: 5,
      cached_tokens: 1,
      output_tokens: 4,
      reasoning_tokens: 2,
      total_tokens: 9,
    })
  })

  test.each<[status: string, more: Json, code: number]>([
    ['completed', {}, 0],
    ['failed', { output: [], error: { code: 'server_error', message: 'failed' } }, 9],
    ['cancelled', { output: [] }, 9],
    ['in_progress', { output: [], background: true }, 11],
    ['queued', { output: [], background: true }, 11],
    ['incomplete', { incomplete_details: { reason: 'max_output_tokens' } }, 0],
  ])('status %s', async (status, more, code) => {
    const reply = json({ ...response, status, ...more })
    expect((await documentOf(['respond', '--no-stream', 'hi'], reply)).code).toBe(code)
  })
})

describe('Output item kinds', () => {
  const server = { type: 'mcp', server_url: 'https://maps.example/mcp' }
  const tools = [
    { type: 'function', name: 'f', parameters: null },
    { type: 'web_search' },
    { type: 'file_search', vector_store_ids: ['vs_1'] },
    { type: 'code_interpreter', container: { type: 'auto' } },
    { type: 'image_generation', quality: 'low' },
    { type: 'computer_use_preview', display_width: 800, display_height: 600, environment: 'browser' },
    { type: 'local_shell' },
    { ...server, server_label: 'maps', require_approval: 'never' },
    { ...server, server_label: 'files', require_approval: 'always' },
    { type: 'custom', name: 'c' },
  ]

  test.each<[title: string, choice: Json, kind: string]>([
    ['file search tool call', { type: 'file_search' }, 'file_search_call'],
    ['function tool call', { type: 'function', name: 'f' }, 'function_call'],
    ['web search tool call', { type: 'web_search_preview' }, 'web_search_call'],
    ['computer tool call', { type: 'computer_use_preview' }, 'computer_call'],
    ['image generation call', { type: 'image_generation' }, 'image_generation_call'],
    ['code interpreter tool call', { type: 'code_interpreter' }, 'code_interpreter_call'],
    ['local shell call', { type: 'local_shell' }, 'local_shell_call'],
    ['remote tool call', { type: 'mcp', server_label: 'maps' }, 'mcp_call'],
    [
      'remote tool approval request',
      { type: 'mcp', server_label: 'files', name: 'fetch' },
      'mcp_approval_request',
    ],
    ['custom tool call', { type: 'custom', name: 'c' }, 'custom_tool_call'],
  ])('remote tool lists and a %s, for a tool_choice of %j', async (_, choice, kind) => {
    const { json: answer } = await respond(await runningSandbox(), 'find out', { tools, tool_choice: choice })
    const items: Json[] = answer.output.filter(({ type }: Json) => type !== 'message')
    expect([...new Set(items.map(({ type }) => type))]).toEqual(['mcp_list_tools', kind])
    expect(JSON.stringify(items)).toContain(choice.name ?? '')
    const { document } = await documentOf(
      ['respond', '--no-stream', 'hi'],
      json({
        id: 'resp_1',
        object: 'response',
        status: 'completed',
        model: 'm',
        output: [...items, message],
      }),
    )
    expect([document.response.output, document.text]).toEqual([[...items, message], 'Hello'])
  })
})
