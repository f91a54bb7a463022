import { expect, test } from 'vitest'
import { bodyOf, refusalOf, type TextCommand } from '../support/text-call.ts'

const bodyWith = (command: TextCommand, history: unknown, ...argv: string[]) =>
  bodyOf(command, ['--history', JSON.stringify(history), ...argv])

const chat = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Hello' },
  { role: 'assistant', content: 'Hi!' },
]

test('chat messages become contents, and the system message the system instruction', async () => {
  for (const history of [chat, { messages: chat, model: 'other' }]) {
    expect(await bodyWith('generate', history, 'And then?')).toEqual({
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [
        { role: 'user', parts: [{ text: 'Hello' }] },
        { role: 'model', parts: [{ text: 'Hi!' }] },
        { role: 'user', parts: [{ text: 'And then?' }] },
      ],
    })
  }
})

test('chat messages become input items, and the system message the instructions', async () => {
  for (const history of [chat, { messages: chat }, { input: chat }]) {
    expect(await bodyWith('respond', history, 'And then?')).toMatchObject({
      instructions: 'Be brief.',
      input: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Hi!' },
        { role: 'user', content: [{ type: 'input_text', text: 'And then?' }] },
      ],
    })
  }
})

test('pictures and files keep their place', async () => {
  const history = [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Look' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
        { type: 'image_url', image_url: { url: 'https://a.test/b.jpg' } },
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,BBBB' } },
      ],
    },
    { role: 'assistant', content: [{ type: 'text', text: 'A cat' }] },
  ]
  expect(await bodyWith('generate', history)).toEqual({
    contents: [
      {
        role: 'user',
        parts: [
          { text: 'Look' },
          { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
          { fileData: { mimeType: 'image/jpeg', fileUri: 'https://a.test/b.jpg' } },
          { inlineData: { mimeType: 'application/pdf', data: 'BBBB' } },
        ],
      },
      { role: 'model', parts: [{ text: 'A cat' }] },
    ],
  })
  expect(await bodyWith('respond', history)).toMatchObject({
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Look' },
          { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'low' },
          { type: 'input_image', image_url: 'https://a.test/b.jpg' },
          { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,BBBB' },
        ],
      },
      { role: 'assistant', content: [{ type: 'output_text', text: 'A cat' }] },
    ],
  })
})

const called = (id: string, city: string) => ({
  id,
  type: 'function',
  function: { name: 'weather', arguments: JSON.stringify({ city }) },
})

test('calls of tools and what they returned stay together', async () => {
  const history = [
    { role: 'user', content: 'Warm?' },
    { role: 'assistant', content: null, tool_calls: [called('c1', 'Oslo'), called('c2', 'Rome')] },
    { role: 'tool', tool_call_id: 'c1', content: '{"celsius":4}' },
    { role: 'tool', tool_call_id: 'c2', content: 'hot' },
  ]
  const call = (id: string, city: string) => ({ functionCall: { id, name: 'weather', args: { city } } })
  const response = (id: string, value: unknown) => ({
    functionResponse: { id, name: 'weather', response: value },
  })
  expect((await bodyWith('generate', history))['contents']).toEqual([
    { role: 'user', parts: [{ text: 'Warm?' }] },
    { role: 'model', parts: [call('c1', 'Oslo'), call('c2', 'Rome')] },
    { role: 'user', parts: [response('c1', { celsius: 4 }), response('c2', { output: 'hot' })] },
  ])
  expect((await bodyWith('respond', history))['input']).toEqual([
    { role: 'user', content: 'Warm?' },
    { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"city":"Oslo"}' },
    { type: 'function_call', call_id: 'c2', name: 'weather', arguments: '{"city":"Rome"}' },
    { type: 'function_call_output', call_id: 'c1', output: '{"celsius":4}' },
    { type: 'function_call_output', call_id: 'c2', output: 'hot' },
  ])
})

const customCall = { id: 'c1', type: 'custom', custom: { name: 'note', input: 'Buy milk' } }

test('messages of the style itself pass as they are, also among chat messages', async () => {
  const content = { role: 'model', parts: [{ text: 'a', thoughtSignature: 's' }], own: 1 }
  expect((await bodyWith('generate', [{ role: 'user', content: 'x' }, content]))['contents']).toEqual([
    { role: 'user', parts: [{ text: 'x' }] },
    content,
  ])
  const items = [
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'e' },
    { type: 'message', role: 'assistant', id: 'msg_1', content: [{ type: 'output_text', text: 'a' }] },
    { type: 'item_reference', id: 'x' },
  ]
  expect((await bodyWith('respond', [{ role: 'user', content: 'x' }, ...items]))['input']).toEqual([
    { role: 'user', content: 'x' },
    ...items,
  ])
})

const ofUser = (content: unknown) => [{ role: 'user', content }]
const calls = (call: object) => [{ role: 'assistant', tool_calls: [call] }]
const twice = (flag: string) =>
  `--history has a system message and ${flag} gives another: use only one of them.`

test.each<[string, TextCommand, history: unknown, line: string, more?: readonly string[]]>([
  [
    'no list',
    'generate',
    {},
    '--history: must be an array of messages, or an object with one under "contents" or "messages".',
  ],
  ['no message at all', 'generate', [], '--history must have at least 1 entry, not 0.', ['--no-stdin']],
  [
    'an unknown role',
    'generate',
    [{ role: 'bot', content: 'x' }],
    '--history: message 1 has the role "bot"; it must be one of user, assistant, system, tool.',
  ],
  [
    'content that is none',
    'respond',
    ofUser(5),
    '--history: message 1: its content must be text or an array of parts.',
  ],
  [
    'a part of another kind',
    'generate',
    ofUser([{ type: 'x' }]),
    '--history: message 1: a part of the type "x" has no counterpart in this style.',
  ],
  [
    'a call of a custom tool',
    'generate',
    calls(customCall),
    '--history: message 1: a call of a custom tool has no counterpart in this style.',
  ],
  [
    'an answer to no call',
    'generate',
    [{ role: 'tool', tool_call_id: 'c', content: 'x' }],
    '--history: message 1 answers no call of a message before it.',
  ],
  [
    'an answer to no call',
    'respond',
    [{ role: 'tool', content: 'x' }],
    '--history: message 1 answers no call: it has no tool_call_id.',
  ],
  ['a second system message', 'generate', chat, twice('--system'), ['--system', 'No.', 'x']],
  ['a second system message', 'respond', chat, twice('--instructions'), ['--instructions', 'No.', 'x']],
  ['--input as well', 'respond', chat, '--history and --input cannot be used together.', ['--input', 'x']],
])('%s (%s) is told under the flag that was given', async (_, command, history, line, more = ['x']) => {
  const argv = ['--history', JSON.stringify(history), ...more]
  expect(await refusalOf(command, argv)).toMatchObject({ exit: 2, lines: [line] })
})
