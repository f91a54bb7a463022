import { expect, test } from 'vitest'
import { bodyOf, refusalOf, type TextCommand } from '../support/text-call.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'

const bodyWith = (command: TextCommand, history: unknown, ...argv: string[]) =>
  bodyOf(command, ['--history', JSON.stringify(history), ...argv])

const chat = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Hello' },
  { role: 'assistant', content: 'Hi!' },
]

test.each([{ messages: chat, model: 'other' }, chat])('chat messages become contents', async (history) => {
  expect(await bodyWith('generate', history, 'And then?')).toEqual({
    systemInstruction: { parts: [{ text: 'Be brief.' }] },
    contents: [
      { role: 'user', parts: [{ text: 'Hello' }] },
      { role: 'model', parts: [{ text: 'Hi!' }] },
      { role: 'user', parts: [{ text: 'And then?' }] },
    ],
  })
})

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
])('%s: messages of its own style pass among those of a chat', async (command, name, own) => {
  const asked = { role: 'user', content: 'x' }
  const first = command === 'generate' ? { role: 'user', parts: [{ text: 'x' }] } : asked
  expect((await bodyWith(command, [asked, own]))[name]).toEqual([first, own])
})

const twice = (flag: string) =>
  `--history has a system message and ${flag} gives another: use only one of them.`

const unknown = '--history: message 1 has to be a text of the user or the assistant, or {"role", "parts"}.'

test.each<[TextCommand, history: unknown, line: string, more?: readonly string[]]>([
  ['generate', {}, '--history: must be an array of messages, or an object with one under "contents" or "'],
  ['generate', [], '--history must have at least 1 entry, not 0.', ['--no-stdin']],
  ['generate', [{ role: 'bot', content: 'x' }], unknown],
  ['generate', [{ role: 'user', content: [{ type: 'text', text: 'x' }] }], unknown],
  ['respond', [{ role: 'assistant', tool_calls: [] }], '--history: message 1 has to be written as items: {"'],
  ['generate', chat, twice('--system'), ['--system', 'No.', 'x']],
  ['respond', chat, twice('--instructions'), ['--instructions', 'No.', 'x']],
  ['respond', chat, '--history and --input cannot be used together.', ['--input', 'x']],
])('%s tells what is wrong with %j', async (command, history, line, more = ['x']) => {
  const argv = ['--history', JSON.stringify(history), ...more]
  expect(await refusalOf(command, argv)).toMatchObject({ exit: 2, lines: [expect.stringContaining(line)] })
})

const functionCall = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' }
const customCall = { type: 'custom_tool_call', call_id: 'c2', name: 'g', input: 'x' }
const request = { type: 'mcp_approval_request', id: 'a1', server_label: 's', name: 'n', arguments: '{}' }
const output = (call_id: string, text: string) => ({ type: 'function_call_output', call_id, output: text })
const approval = { type: 'mcp_approval_response', approval_request_id: 'a1' }

const inputOf = async (...argv: string[]) => {
  const cwd = temporaryFolder()
  writeFiles(cwd, { 'out.json': '{"celsius": 21}\n' })
  return (await bodyOf('respond', argv, { cwd, stdin: 'piped' }))['input']
}

const previous = ['--previous-response-id', 'resp_1']

const custom = { type: 'custom_tool_call_output', call_id: 'c1', output: 'a' }
const goOn = { role: 'user', content: [{ type: 'input_text', text: 'On' }] }

test.each<[words: string, ...items: readonly object[]]>([
  ['--tool-output c1=21°=warm', output('c1', '21°=warm')],
  ['--tool-output c1={"a":1}', output('c1', '{"a":1}')],
  ['--tool-output c1=', output('c1', '')],
  ['--tool-output c1=@out.json', output('c1', '{"celsius": 21}\n')],
  ['--tool-output c1=@-', output('c1', 'piped')],
  ['--tool-output c1=a --tool-output c2=b', output('c1', 'a'), output('c2', 'b')],
  ['--custom-tool-output c1=a', custom],
  ['--approve a1', { ...approval, approve: true }],
  ['--deny a1', { ...approval, approve: false }],
  ['--deny a1=too=risky', { ...approval, approve: false, reason: 'too=risky' }],
  ['--no-stdin --tool-output c1=a On', output('c1', 'a'), goOn],
  ['--tool-output c1=a --input On', output('c1', 'a'), { role: 'user', content: 'On' }],
])('respond %s', async (words, ...items) => {
  expect(await inputOf(...previous, ...words.split(' '))).toEqual(items)
})

test('the calls of a history are answered by their own kind of item', async () => {
  const history = [functionCall, customCall, request]
  const argv = ['--tool-output', 'c1=a', '--tool-output', 'c2=b', '--approve', 'a1']
  expect(await inputOf('--no-store', '--history', JSON.stringify(history), ...argv)).toEqual([
    ...history,
    output('c1', 'a'),
    { type: 'custom_tool_call_output', call_id: 'c2', output: 'b' },
    { ...approval, approve: true },
  ])
  const items = await inputOf('--input', JSON.stringify([functionCall]), '--tool-output', 'c1=a')
  expect(items).toEqual([functionCall, output('c1', 'a')])
})

const nowhere = (flag: string, id: string) => `${flag}: nothing in the input asks for "${id}".`

test.each<[readonly string[], string]>([
  [['--tool-output', 'c1=a'], nowhere('--tool-output', 'c1')],
  [['--custom-tool-output', 'c1=a', 'hi'], nowhere('--tool-output', 'c1')],
  [['--history', JSON.stringify([customCall]), '--tool-output', 'c1=a'], nowhere('--tool-output', 'c1')],
  [['--history', JSON.stringify([functionCall]), '--deny', 'c1'], nowhere('--approve, --deny', 'c1')],
  [[...previous, '--tool-output', 'c1=a', '--tool-output', 'c1=b'], '--tool-output: "c1" is answered twice.'],
  [[...previous, '--tool-output', 'c'], '--tool-output "c" must be CALL=TEXT or CALL=@file.'],
  [[...previous, '--tool-output', '=b'], '--tool-output "=b" must be CALL=TEXT or CALL=@file.'],
  [[...previous, '--approve', 'a', '--deny', 'a'], '--approve, --deny: "a" is answered twice.'],
  [[...previous, '--deny', '=why'], '--deny needs the id of a request for approval.'],
])('respond refuses %j', async (argv, line) => {
  expect(await refusalOf('respond', argv)).toMatchObject({ exit: 2, lines: [line] })
})

const call = (name: string, id?: string) => ({
  functionCall: { id, name, args: {} },
  thoughtSignature: 'sig',
})
const model = (...parts: unknown[]) => ({ role: 'model', parts })
const responded = (name: string, response: unknown, id?: string) => ({
  functionResponse: { id, name, response },
})
const asked = { role: 'user', parts: [{ text: 'hi' }] }

const contentsOf = async (history: readonly unknown[], ...argv: string[]) => {
  const { contents } = await bodyOf('generate', ['--history', JSON.stringify(history), ...argv])
  const all = contents as unknown[]
  // The history comes first, unchanged: a signature must be sent back with its call.
  expect(all.slice(0, history.length)).toEqual(history)
  return all.slice(history.length)
}

test.each<[string, readonly unknown[], readonly string[], readonly unknown[]]>([
  ['an object', [call('f')], ['f={"celsius":21}'], [responded('f', { celsius: 21 })]],
  ['text', [call('f')], ['f=21 degrees'], [responded('f', { output: '21 degrees' })]],
  ['nothing', [call('f')], ['f='], [responded('f', { output: '' })]],
  ['a call with an id, by its name', [call('f', 'i1')], ['f={}'], [responded('f', {}, 'i1')]],
  ['a call by its id', [call('f', 'i1')], ['i1={}'], [responded('f', {}, 'i1')]],
  [
    'several calls, in their order',
    [call('f', 'i1'), { text: 'and' }, call('g', 'i2'), call('f', 'i3')],
    ['i3=3', 'g=2', 'f=1'],
    ['i1', 'i2', 'i3'].map((id, at) => responded(at === 1 ? 'g' : 'f', { output: at + 1 }, id)),
  ],
])('generate answers a call with %s', async (_, calls, outputs, parts) => {
  const argv = outputs.flatMap((text) => ['--tool-output', text])
  expect(await contentsOf([asked, model(...calls)], ...argv)).toEqual([{ role: 'user', parts }])
})

test('what the user says after an output is a message of its own', async () => {
  expect(await contentsOf([asked, model(call('f'))], '--tool-output', 'f=1', 'Go on')).toEqual([
    { role: 'user', parts: [responded('f', { output: 1 })] },
    { role: 'user', parts: [{ text: 'Go on' }] },
  ])
})

test.each<[readonly object[], readonly string[], string]>([
  [
    [call('f', 'i1'), call('g')],
    ['h=1'],
    'nothing in the conversation calls "h"; its last calls are f (i1), g.',
  ],
  [[{ text: 'no' }], ['f=1'], 'nothing in the conversation calls "f"; it has no function calls.'],
  [[call('f', 'i1')], ['f=1', 'i1=1'], '"i1" is answered twice.'],
])('generate %j refuses %j', async (parts, outputs, problem) => {
  const argv = ['--history', JSON.stringify([asked, model(...parts)])]
  for (const text of outputs) argv.push('--tool-output', text)
  const lines = [`--tool-output: ${problem}`]
  expect(await refusalOf('generate', argv)).toMatchObject({ exit: 2, lines })
})
