import { expect, test } from 'vitest'
import { portable } from '../../../src/operations/conversation/portable.ts'
import type { Turn } from '../../../src/operations/conversation/turns.ts'

const png = `data:image/png;base64,AAAA`
const turn = (style: Turn['style'], role: Turn['role'], ...messages: Turn['messages']): Turn => {
  return { style, role, text: '', messages }
}

const contents = [
  turn('generate', 'user', {
    role: 'user',
    parts: [
      { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
      { inlineData: { mimeType: 'application/pdf', data: 'BBBB' } },
      { fileData: { mimeType: 'image/png', fileUri: 'https://a.test/b.png' } },
      { text: 'What is this?' },
    ],
  }),
  turn('generate', 'assistant', {
    role: 'model',
    parts: [
      { text: 'I look.', thought: true },
      { text: 'Wait.', thoughtSignature: 'c2ln' },
      { functionCall: { name: 'look', args: { at: 1 } }, thoughtSignature: 'c2ln' },
      { executableCode: { language: 'PYTHON', code: '1' } },
    ],
  }),
  turn('generate', 'user', {
    role: 'user',
    parts: [{ functionResponse: { name: 'look', response: { seen: 'a heron' } } }],
  }),
  turn('generate', 'assistant', { role: 'model', parts: [{ text: 'A heron.' }] }),
]

const items = [
  turn('respond', 'user', {
    role: 'user',
    content: [
      { type: 'input_image', image_url: png },
      { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,BBBB' },
      { type: 'input_text', text: 'What is this?' },
    ],
  }),
  turn(
    'respond',
    'assistant',
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'eA==' },
    { type: 'web_search_call', id: 'ws_1', status: 'completed' },
    { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'look', arguments: '{"at":1}' },
    { type: 'function_call', id: 'fc_2', call_id: 'call_2', name: 'look', arguments: '{"at":2}' },
  ),
  turn(
    'respond',
    'user',
    { type: 'function_call_output', call_id: 'call_1', output: '{"seen":"a heron"}' },
    { type: 'function_call_output', call_id: 'call_2', output: 'nothing' },
  ),
  turn('respond', 'assistant', {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    content: [
      {
        type: 'output_text',
        text: 'A heron.',
        annotations: [{ type: 'url_citation', url: 'https://a.test' }],
      },
    ],
  }),
]

test('contents become items, without what only their gateway understands', () => {
  expect(portable(contents, 'respond')).toEqual({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'input_image', image_url: png },
          { type: 'input_file', filename: 'attachment', file_data: 'data:application/pdf;base64,BBBB' },
          { type: 'input_image', image_url: 'https://a.test/b.png' },
          { type: 'input_text', text: 'What is this?' },
        ],
      },
      { role: 'assistant', content: 'Wait.' },
      { type: 'function_call', call_id: 'call_1_look', name: 'look', arguments: '{"at":1}' },
      { type: 'function_call_output', call_id: 'call_1_look', output: '{"seen":"a heron"}' },
      { role: 'assistant', content: 'A heron.' },
    ],
    dropped: new Set(['thoughts', 'thought signatures', 'what tools of the gateway did']),
  })
})

test('items become contents, the answers to calls that were made together in one', () => {
  expect(portable(items, 'generate')).toEqual({
    messages: [
      {
        role: 'user',
        parts: [
          { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
          { inlineData: { mimeType: 'application/pdf', data: 'BBBB' } },
          { text: 'What is this?' },
        ],
      },
      {
        role: 'model',
        parts: [
          { functionCall: { id: 'call_1', name: 'look', args: { at: 1 } } },
          { functionCall: { id: 'call_2', name: 'look', args: { at: 2 } } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'call_1', name: 'look', response: { seen: 'a heron' } } },
          { functionResponse: { id: 'call_2', name: 'look', response: { output: 'nothing' } } },
        ],
      },
      { role: 'model', parts: [{ text: 'A heron.' }] },
    ],
    dropped: new Set(['encrypted reasoning', 'what tools of the gateway did', 'citations']),
  })
})

test('to another gateway of the same style goes the same', () => {
  const { messages } = portable(items, 'respond')
  expect(JSON.stringify(messages)).not.toMatch(/encrypted|ws_1|fc_1|msg_1/)
  expect(messages).toHaveLength(6)
})

test('a turn of which nothing is left keeps its place', () => {
  const lost = turn('respond', 'assistant', { type: 'web_search_call', id: 'ws_1' })
  expect(portable([lost], 'generate').messages).toEqual([{ role: 'model', parts: [{ text: '…' }] }])
})
