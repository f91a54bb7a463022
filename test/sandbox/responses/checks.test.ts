import { expect, test } from 'vitest'
import { respond, runningSandbox, type Json } from '../../support/running-sandbox.ts'

const picture = 'data:image/png;base64,iVBORw0KGgo='
const file = 'data:application/pdf;base64,JVBERi0='
const user = (...content: Json[]) => ({ role: 'user', content })
const call = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' }

const byUrl = { type: 'input_image', image_url: 'https://example.com/a.png' }
const pdf = { type: 'input_file', filename: 'a.pdf', file_data: file }

const accepted: readonly (readonly [what: string, input: Json])[] = [
  ['no item', []],
  ['a message with a type', [{ type: 'message', role: 'developer', content: 'hi' }]],
  ['parts', [user({ type: 'input_text', text: 'hi' }, { ...byUrl, image_url: picture, detail: 'low' })]],
  ['URLs', [user(byUrl, { type: 'input_file', file_url: 'https://example.com/a.pdf' })]],
  ['ids', [user({ type: 'input_image', file_id: 'file-1' }, { type: 'input_file', file_id: 'file-2' })]],
  ['files', [user(pdf)]],
  ['an earlier answer', [{ role: 'assistant', content: [{ type: 'output_text', text: 'hi' }] }]],
  ['an earlier refusal', [{ role: 'assistant', content: [{ type: 'refusal', refusal: 'no' }] }]],
  ['a call with its output', [call, { type: 'function_call_output', call_id: 'call_1', output: '1' }]],
  ['what another gateway has compacted', [{ type: 'compaction', encrypted_content: 'AAAA' }]],
  ['fields that are not known', [{ role: 'user', content: 'hi', phase: 'final_answer' }]],
]

test.for(accepted)('input with %s is accepted', async ([, input]) => {
  const { status, json } = await respond(await runningSandbox(), input)
  expect([status, json.error]).toEqual([200, null])
})

const refused: readonly (readonly [param: string, code: string | null, input: Json])[] = [
  ['input', 'invalid_value', 7],
  ['input[0]', 'invalid_value', ['hi']],
  ['input[0].type', 'missing_required_parameter', [{}]],
  ['input[1].type', 'invalid_value', [user(), { type: 'hologram' }]],
  ['input[0].role', 'missing_required_parameter', [{ type: 'message', content: 'hi' }]],
  ['input[0].role', 'invalid_value', [{ role: 'king', content: 'hi' }]],
  ['input[0].content', 'missing_required_parameter', [{ role: 'user' }]],
  ['input[0].content', 'invalid_value', [{ role: 'user', content: 7 }]],
  ['input[0].content[0]', 'invalid_value', [user('hi')]],
  ['input[0].content[0].type', 'missing_required_parameter', [user({ text: 'hi' })]],
  ['input[0].content[0].type', 'invalid_value', [user({ type: 'output_text', text: 'hi' })]],
  ['input[0].content[0].text', 'missing_required_parameter', [user({ type: 'input_text' })]],
  ['input[0].content[1]', 'invalid_value', [user(pdf, { type: 'input_image' })]],
  ['input[0].content[0].image_url', 'invalid_value', [user({ type: 'input_image', image_url: 'fox.png' })]],
  ['input[0].content[0].image_url', 'invalid_value', [user({ type: 'input_image', image_url: file })]],
  ['input[0].content[0]', 'invalid_value', [user({ type: 'input_file', filename: 'a.pdf' })]],
  ['input[0].content[0].file_data', 'invalid_value', [user({ ...pdf, file_data: 'JVBERi0=' })]],
  ['input[0].content[0].filename', 'missing_required_parameter', [user({ ...pdf, filename: undefined })]],
  ['input[0].call_id', 'missing_required_parameter', [{ type: 'function_call_output', output: '1' }]],
  ['input[0].output', 'missing_required_parameter', [{ type: 'function_call_output', call_id: 'call_1' }]],
  ['input', null, [{ type: 'function_call_output', call_id: 'call_1', output: '1' }]],
  ['input', null, [call, { type: 'custom_tool_call_output', call_id: 'call_1', output: '1' }]],
  ['input', null, [call, { role: 'user', content: 'and?' }]],
]

test('tools that the sandbox never calls are accepted', async () => {
  const tools = [{ type: 'shell' }, { type: 'apply_patch' }]
  const { status, json } = await respond(await runningSandbox(), 'hi', { tools })
  expect([status, json.output.map(({ type }: Json) => type)]).toEqual([200, ['message']])
})

test.for(refused)('%s is %s in %j', async ([param, code, input]) => {
  const sandbox = await runningSandbox()
  const { status, json } = await respond(sandbox, input)
  expect(status).toBe(400)
  expect(json.error).toEqual({ type: 'invalid_request_error', param, code, message: expect.any(String) })
  expect(sandbox.created()).toBe(0)
})

const refusedFields: readonly (readonly [param: string, body: Json])[] = [
  ['tools[0].type', { tools: [{ type: 'hammer' }] }],
  ['tools[1].name', { tools: [{ type: 'web_search' }, { type: 'function' }] }],
  ['tools[0].name', { tools: [{ type: 'function', name: 'get weather' }] }],
  ['tools[0].vector_store_ids', { tools: [{ type: 'file_search' }] }],
  ['tools[0].container', { tools: [{ type: 'code_interpreter' }] }],
  ['tools[0].server_label', { tools: [{ type: 'mcp', server_url: 'https://example.com' }] }],
  ['tools[0]', { tools: [{ type: 'mcp', server_label: 'files' }] }],
  ['tools[0].quality', { tools: [{ type: 'image_generation', quality: 'ultra' }] }],
  ['tools[0].partial_images', { tools: [{ type: 'image_generation', partial_images: 4 }] }],
  ['tool_choice.type', { tool_choice: { type: 'hammer' } }],
  ['tool_choice.name', { tool_choice: { type: 'function' } }],
  ['tool_choice.mode', { tool_choice: { type: 'allowed_tools', tools: [] } }],
  ['tool_choice', { tool_choice: 'required' }],
  ['text.format.type', { text: { format: { type: 'xml' } } }],
  ['text.format.name', { text: { format: { type: 'json_schema', schema: {} } } }],
  ['text.format.schema', { text: { format: { type: 'json_schema', name: 'a' } } }],
  ['metadata.run', { metadata: { run: 7 } }],
  ['metadata', { metadata: { ...Array<string>(17).fill('v') } }],
  ['metadata', { metadata: { ['n'.repeat(65)]: 'v' } }],
  ['metadata.run', { metadata: { run: 'v'.repeat(513) } }],
  ['conversation.id', { conversation: {} }],
]

test.for(refusedFields)('%s is refused in %j', async ([param, body]) => {
  const sandbox = await runningSandbox()
  const { status, json } = await respond(sandbox, 'hi', body)
  expect([status, json.error.param]).toEqual([400, param])
  expect(sandbox.created()).toBe(0)
})

test('a call of an earlier response needs its output', async () => {
  const sandbox = await runningSandbox()
  const first = await respond(sandbox, 'sandbox:function')
  const next = await respond(sandbox, 'and?', { previous_response_id: first.json.id })
  expect([next.status, next.json.error.param]).toEqual([400, 'input'])
  expect(next.json.error.message).toContain(first.json.output[0].call_id)
})

test('a reference takes an item from the conversation or from another response that is stored', async () => {
  const sandbox = await runningSandbox()
  const first = await respond(sandbox, 'sandbox:function')
  const [item] = first.json.output
  const output = { type: 'function_call_output', call_id: item.call_id, output: 'clear sky' }
  const question = { role: 'user', content: 'Weather?' }
  for (const reference of [{ type: 'item_reference', id: item.id }, { id: item.id }]) {
    const { json } = await respond(sandbox, [question, reference, output], { store: false })
    expect(json.output[0].content[0].text).toContain('clear sky')
  }
  const more = { previous_response_id: first.json.id }
  const chained = await respond(sandbox, [{ type: 'item_reference', id: item.id }, output], more)
  expect(chained.json.output[0].content[0].text).toContain('clear sky')
  const unstored = await respond(sandbox, 'sandbox:function', { store: false })
  const lost = await respond(sandbox, [{ type: 'item_reference', id: unstored.json.output[0].id }])
  expect([lost.status, lost.json.error.param]).toEqual([404, 'input'])
})
