import { describe, expect, test } from 'vitest'
import { runMain } from '../support/run-main.ts'
import { call, runningSandbox } from '../support/running-sandbox.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { differences, requestOf, type FieldRow } from './both-sides.ts'

// Endpoints 1 and 2 of the specification, row by row.

const text = (field: string): FieldRow => ({ field, value: 'some words', refused: [5, true, null] })

const userMessage = { role: 'user', content: 'hi' }
const server = { type: 'mcp', server_label: 'maps' }

const responseRows: readonly FieldRow[] = [
  { field: 'model', flags: ['-m', 'sandbox-text'], value: 'sandbox-text', refused: [5, null] },
  { field: 'input', flags: [], value: 'hi', allowed: [[userMessage]], refused: [5, { role: 'user' }, null] },
  { ...text('instructions'), allowed: [null], refused: [5, true] },
  { ...text('conversation'), allowed: [{ id: 'conv_1' }] },
  { field: 'metadata', value: { a: 'b' }, refused: ['a', ['a'], null] },
  { field: 'top_logprobs', value: 20, allowed: [0], refused: [-1, 21, 1.5, '3', null] },
  { field: 'temperature', value: 0.5, allowed: [0, 2, null], refused: [-0.1, 2.1, '1'] },
  { field: 'top_p', value: 0.5, allowed: [0, 1, null], refused: [-0.1, 1.1] },
  text('user'),
  { field: 'prompt', value: 'some words', refused: [5, null] },
  text('safety_identifier'),
  text('prompt_cache_key'),
  { field: 'service_tier', value: 'scale', allowed: ['default'], refused: ['fast', 1, null] },
  {
    field: 'reasoning',
    value: { effort: 'low' },
    allowed: [{ summary: 'auto' }, { effort: 'high', summary: null }],
    refused: ['low', null],
  },
  { field: 'background', value: true, allowed: [false, null], refused: ['yes'] },
  { field: 'max_output_tokens', value: 50, allowed: [1, null], refused: [1.5, '9'] },
  { field: 'max_tool_calls', value: 3, allowed: [0, null], refused: [-1, 1.5, 'two'] },
  {
    field: 'text',
    value: { format: { type: 'text' } },
    allowed: [{ format: { type: 'json_object' } }],
    refused: ['plain', null],
  },
  {
    field: 'tools',
    value: [{ type: 'function', name: 'f', parameters: { type: 'object' } }],
    allowed: [
      [{ type: 'web_search' }],
      [{ type: 'file_search', vector_store_ids: ['vs_1'] }],
      [{ ...server, server_url: 'https://maps.example/mcp' }],
      [{ ...server, connector_id: 'connector_gmail' }],
    ],
    refused: ['web_search', { type: 'web_search' }, null],
  },
  {
    field: 'tool_choice',
    value: 'none',
    allowed: ['auto', { type: 'web_search' }, 'required'],
    refused: ['sometimes', 1, null],
    beside: { tools: [{ type: 'web_search' }] },
  },
  { field: 'truncation', value: 'auto', allowed: ['disabled', null], refused: ['some'] },
  {
    field: 'include',
    flags: ['--include', 'reasoning.encrypted_content'],
    value: ['reasoning.encrypted_content'],
    allowed: [
      [
        'code_interpreter_call.outputs',
        'computer_call_output.output.image_url',
        'file_search_call.results',
        'message.input_image.image_url',
        'message.output_text.logprobs',
        'web_search_call.action.sources',
      ],
      null,
    ],
    refused: ['reasoning.encrypted_content', [5], ['some.other']],
  },
  { field: 'parallel_tool_calls', value: false, allowed: [true, null], refused: ['no'] },
  { field: 'store', value: false, allowed: [true, null], refused: [0] },
  { field: 'stream', value: true, allowed: [false, null], refused: ['true'] },
  {
    field: 'stream_options',
    value: { include_obfuscation: false },
    refused: ['none'],
    beside: { stream: true },
  },
]

describe('endpoint 2, POST /v1/responses', () => {
  const endpoint = { command: ['respond'], words: ['hi'], path: '/v1/responses', body: { input: 'hi' } }

  test.each(responseRows.map((row) => [row.field, row] as const))('%s', async (_, row) => {
    expect(await differences(await runningSandbox(), endpoint, row)).toEqual([])
  })

  test('previous_response_id, which cannot be combined with conversation', async () => {
    const sandbox = await runningSandbox()
    const { json } = await call(sandbox, '/v1/responses', { input: 'hi' })
    const row: FieldRow = { field: 'previous_response_id', value: json.id, allowed: [null], refused: [5] }
    expect(await differences(sandbox, endpoint, row)).toEqual([])
    const both = ['--previous-response-id', json.id, '--conversation', 'conv_1']
    expect((await requestOf(['respond', ...both, 'hi'])).code).toBe(2)
    const body = { input: 'hi', previous_response_id: json.id, conversation: 'conv_1' }
    expect((await call(sandbox, '/v1/responses', body)).status).toBe(400)
  })

  test('all fields are optional, the model among them', async () => {
    const { out } = await runMain(['respond', '--dry-run', '--no-stdin', '--no-stream', 'hi'], {
      env: { MODELGATE_BASE_URL: 'http://127.0.0.1:8080', MODELGATE_API_KEY: 'key' },
      cwd: temporaryFolder(),
    })
    expect(JSON.parse(out).body).toEqual({ input: 'hi', stream: false })
    expect((await call(await runningSandbox(), '/v1/responses', {})).status).toBe(200)
  })

  test('stream_options only when stream is true', async () => {
    const options = ['--stream-options', '{"include_obfuscation":false}']
    expect((await requestOf(['respond', '--no-stream', ...options, 'hi'])).code).toBe(2)
    const body = { input: 'hi', stream_options: { include_obfuscation: false } }
    expect((await call(await runningSandbox(), '/v1/responses', body)).status).toBe(400)
  })

  test('defaults: temperature 1, top_p 1, truncation disabled, store, parallel tool calls, no background', async () => {
    const { json } = await call(await runningSandbox(), '/v1/responses', { input: 'hi' })
    const switches = { store: true, parallel_tool_calls: true, background: false }
    expect(json).toMatchObject({ temperature: 1, top_p: 1, truncation: 'disabled', ...switches })
    const { request } = await requestOf(['respond', 'hi'])
    expect(request.body).toEqual({ stream: true, input: 'hi', model: 'sandbox-text' })
  })
})

const userText = [{ role: 'user', parts: [{ text: 'hi' }] }]

const contentRows: readonly FieldRow[] = [
  {
    field: 'contents',
    flags: [],
    value: userText,
    allowed: [[{ parts: [{ text: 'hi' }] }]],
    refused: [
      'hi',
      { parts: [{ text: 'hi' }] },
      null,
      [],
      [5],
      ...[undefined, null, 'hi', [], [5], [{ text: 5 }], [{ text: null }]].map((parts) => [{ parts }]),
    ],
  },
  {
    field: 'tools',
    value: [{ googleSearch: {} }],
    allowed: [[{ functionDeclarations: [{ name: 'f' }] }]],
    refused: [{ googleSearch: {} }, 'googleSearch', [5], null],
  },
  { field: 'toolConfig', value: { functionCallingConfig: { mode: 'AUTO' } }, refused: ['AUTO', [], null] },
  {
    field: 'safetySettings',
    value: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
    refused: [{ category: 'HARM_CATEGORY_HARASSMENT' }, 'OFF', [5], null],
  },
  { field: 'systemInstruction', value: { parts: [{ text: 'be kind' }] }, refused: [5, [], null] },
  { field: 'generationConfig', value: { temperature: 1 }, refused: ['warm', [], null] },
]

describe('endpoint 1, POST /v1beta/models/{model}:streamGenerateContent', () => {
  const path = '/v1beta/models/sandbox-text:streamGenerateContent'
  const endpoint = { command: ['generate'], words: ['hi'], path, body: { contents: userText } }

  test.each(contentRows.map((row) => [row.field, row] as const))('%s', async (_, row) => {
    expect(await differences(await runningSandbox(), endpoint, row)).toEqual([])
  })

  test('the rest is optional', async () => {
    expect((await call(await runningSandbox(), path, { contents: userText })).status).toBe(200)
    expect((await requestOf(['generate', 'hi'])).request.body).toEqual({ contents: userText })
  })
})
