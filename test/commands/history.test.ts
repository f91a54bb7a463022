import { expect, test } from 'vitest'
import { bodyOf, refusalOf, type TextCommand } from '../support/text-call.ts'

const bodyWith = (command: TextCommand, history: unknown, ...argv: string[]) =>
  bodyOf(command, ['--history', JSON.stringify(history), ...argv])

const chat = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Hello' },
  { role: 'assistant', content: 'Hi!' },
]

test.each([{ messages: chat, model: 'other' }, chat])(
  'chat messages become contents: %j',
  async (history) => {
    expect(await bodyWith('generate', history, 'And then?')).toEqual({
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [
        { role: 'user', parts: [{ text: 'Hello' }] },
        { role: 'model', parts: [{ text: 'Hi!' }] },
        { role: 'user', parts: [{ text: 'And then?' }] },
      ],
    })
  },
)

test.each([chat, { messages: chat }, { input: chat }])('chat messages become input: %j', async (history) => {
  const input = [...chat.slice(1), { role: 'user', content: [{ type: 'input_text', text: 'And then?' }] }]
  const body = await bodyWith('respond', history, 'And then?')
  expect(body).toMatchObject({ instructions: 'Be brief.', input })
})

test.each<[TextCommand, string, object]>([
  ['generate', 'contents', { role: 'model', parts: [{ text: 'a', thoughtSignature: 's' }], own: 1 }],
  ['respond', 'input', { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'e' }],
  ['respond', 'input', { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'a' }] }],
  ['respond', 'input', { type: 'item_reference', id: 'x' }],
])(
  '%s: messages of its own style pass as they are, also among those of a chat',
  async (command, name, own) => {
    const asked = { role: 'user', content: 'x' }
    const first = command === 'generate' ? { role: 'user', parts: [{ text: 'x' }] } : asked
    expect((await bodyWith(command, [asked, own]))[name]).toEqual([first, own])
  },
)

const twice = (flag: string) =>
  `--history has a system message and ${flag} gives another: use only one of them.`

const unknown = '--history: message 1 has to be a text of the user or the assistant, or {"role", "parts"}.'

test.each<[TextCommand, history: unknown, line: string, more?: readonly string[]]>([
  [
    'generate',
    {},
    '--history: must be an array of messages, or an object with one under "contents" or "messages".',
  ],
  ['generate', [], '--history must have at least 1 entry, not 0.', ['--no-stdin']],
  ['generate', [{ role: 'bot', content: 'x' }], unknown],
  ['generate', [{ role: 'user', content: [{ type: 'text', text: 'x' }] }], unknown],
  [
    'respond',
    [{ role: 'assistant', tool_calls: [] }],
    '--history: message 1 has to be written as items: {"type": "function_call"} and {"type": "function_call_output"}.',
  ],
  ['generate', chat, twice('--system'), ['--system', 'No.', 'x']],
  ['respond', chat, twice('--instructions'), ['--instructions', 'No.', 'x']],
  ['respond', chat, '--history and --input cannot be used together.', ['--input', 'x']],
])(
  '%s tells what is wrong with %j under the flag that was given',
  async (command, history, line, more = ['x']) => {
    const argv = ['--history', JSON.stringify(history), ...more]
    expect(await refusalOf(command, argv)).toMatchObject({ exit: 2, lines: [line] })
  },
)
