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
    '--history: message 1 has to be a text of the user or the assistant, or {"role", "parts"}.',
  ],
  [
    'content that is no text',
    'generate',
    [{ role: 'user', content: [{ type: 'text', text: 'x' }] }],
    '--history: message 1 has to be a text of the user or the assistant, or {"role", "parts"}.',
  ],
  [
    'calls of tools',
    'respond',
    [{ role: 'assistant', tool_calls: [] }],
    '--history: message 1 has to be written as items: {"type": "function_call"} and {"type": "function_call_output"}.',
  ],
  ['a second system message', 'generate', chat, twice('--system'), ['--system', 'No.', 'x']],
  ['a second system message', 'respond', chat, twice('--instructions'), ['--instructions', 'No.', 'x']],
  ['--input as well', 'respond', chat, '--history and --input cannot be used together.', ['--input', 'x']],
])('%s (%s) is told under the flag that was given', async (_, command, history, line, more = ['x']) => {
  const argv = ['--history', JSON.stringify(history), ...more]
  expect(await refusalOf(command, argv)).toMatchObject({ exit: 2, lines: [line] })
})
