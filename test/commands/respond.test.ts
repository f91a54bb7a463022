import { expect, test } from 'vitest'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { bodyOf, refusalOf, textCall, wholeCall } from '../support/text-call.ts'

const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const schema = { title: 'A person!', type: 'object' }
const message = (...content: unknown[]) => ({ role: 'user', content })
const text = (words: string) => ({ type: 'input_text', text: words })
const attached = (...parts: unknown[]) => ({ input: [message(...parts, text('hi'))] })

function folder(): string {
  const cwd = temporaryFolder()
  writeFiles(cwd, {
    'photo.jpg': png,
    'notes.txt': 'some notes',
    'paper.pdf': '%PDF-1.7\n',
    'system.txt': 'Be brief.',
    'schema.json': JSON.stringify(schema),
    'input.json': '[{"role":"user","content":"a"}]',
    'request.json': '{"input":"hello","model":"b","store":false}',
    'function.json': '{"name":"f","parameters":{}}',
  })
  return cwd
}

test('sends one text to the endpoint, streamed', async () => {
  const { request } = await textCall('respond', ['Name', 'three rivers'])
  expect(request).toMatchObject({ command: 'respond', model: 'm', path: '/v1/responses', streamed: true })
  expect(request.query).toBeUndefined()
  expect(request.body).toEqual({ input: 'Name three rivers', model: 'm', stream: true })
})

test.each<[string, readonly string[], Record<string, unknown>]>([
  ['text as --input', ['--input', 'hello'], { input: 'hello' }],
  ['a text file as --input', ['--input', '@notes.txt'], { input: 'some notes' }],
  ['a JSON file as --input', ['--input', '@input.json'], { input: [{ role: 'user', content: 'a' }] }],
  [
    'messages as --input, then the prompt',
    ['--input', '[{"role":"user","content":"a"}]', 'b'],
    { input: [{ role: 'user', content: 'a' }, message(text('b'))] },
  ],
  ['--no-input beside a prompt', ['--no-input', 'hi'], { input: 'hi' }],
  ['--no-input beside --input', ['--no-input', '--input', 'hi'], { input: 'hi' }],
  ['a system instruction', ['hi', '-s', '@system.txt'], { instructions: 'Be brief.' }],
  [
    'a picture by its bytes',
    ['-a', 'photo.jpg', 'hi'],
    attached({ type: 'input_image', image_url: `data:image/png;base64,${png.toString('base64')}` }),
  ],
  [
    'a PDF',
    ['-a', 'paper.pdf', 'hi'],
    attached({ filename: 'paper.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjcK' }),
  ],
  [
    'URLs',
    ['-a', 'https://a.test/a.webp', '-a', 'https://a.test/', 'hi'],
    attached(
      { type: 'input_image', image_url: 'https://a.test/a.webp' },
      { type: 'input_file', file_url: 'https://a.test/' },
    ),
  ],
  ['a whole body', ['--body', '@request.json'], { input: 'hello', model: 'b', store: false }],
  ['-m over the body', ['--body', '@request.json', '-m', 'c'], { model: 'c' }],
  ['--set over -m', ['hi', '-m', 'c', '--set', 'model="d"'], { model: 'd' }],
  ['an input set by path', ['--set', 'input="x"'], { input: 'x' }],
  ['an unknown field', ['hi', '--set', 'own.deep.0=1'], { own: { deep: [1] } }],
  ['a conversation id', ['hi', '--conversation', 'conv_1'], { conversation: 'conv_1' }],
])('%s', async (_, argv, expected) => {
  expect(await bodyOf('respond', argv, { cwd: folder() })).toMatchObject(expected)
})

test.each<[string, readonly string[], unknown, boolean]>([
  ['by default', [], true, true],
  ['--stream', ['--stream'], true, true],
  ['--no-stream', ['--no-stream'], false, false],
  ['--background', ['--background'], false, false],
  ['--background --stream', ['--background', '--stream'], true, true],
  ['--no-background', ['--no-background'], true, true],
  ['--set background=true', ['--set', 'background=true'], false, false],
  ['--set stream=null', ['--set', 'stream=null'], null, false],
  ['--set over --no-stream', ['--no-stream', '--set', 'stream=true'], true, true],
  ['a body', ['--body', '{"stream":false}'], false, false],
])('streaming: %s', async (_, argv, stream, streamed) => {
  const { request } = await textCall('respond', ['hi', ...argv])
  expect(request.body['stream']).toBe(stream)
  expect(request.streamed).toBe(streamed)
})

test.each<[string, string, string]>([
  ['inline', JSON.stringify(schema), 'A_person_'],
  ['@file', '@schema.json', 'A_person_'],
  ['a file name', 'schema.json', 'A_person_'],
  ['without a title', '{"type":"array"}', 'answer'],
  ['with an unusable title', '{"title":""}', 'answer'],
])('--schema %s', async (_, word, name) => {
  const argv = ['hi', '--schema', word, '--verbosity', 'low']
  const { answerSchema, body } = (await textCall('respond', argv, { cwd: folder() })).request
  const format = { type: 'json_schema', name, schema: answerSchema!.schema }
  expect(body['text']).toEqual({ verbosity: 'low', format })
})

test.each<[string, unknown]>([
  ['web_search', { type: 'web_search' }],
  ['web_search_preview', { type: 'web_search_preview' }],
  ['image_generation', { type: 'image_generation' }],
  ['local_shell', { type: 'local_shell' }],
  ['code_interpreter', { type: 'code_interpreter', container: { type: 'auto' } }],
  ['file_search:vs_1', { type: 'file_search', vector_store_ids: ['vs_1'] }],
  ['file_search:vs_1,vs_2', { type: 'file_search', vector_store_ids: ['vs_1', 'vs_2'] }],
  ['mcp:docs=https://h/p?a=b', { type: 'mcp', server_label: 'docs', server_url: 'https://h/p?a=b' }],
  ['connector:mail=connector_1', { type: 'mcp', server_label: 'mail', connector_id: 'connector_1' }],
  ['@function.json', { type: 'function', name: 'f', parameters: {} }],
  ['{"type":"function","function":{"name":"g"}}', { type: 'function', name: 'g' }],
  ['{"type":"custom","name":"h"}', { type: 'custom', name: 'h' }],
])('--tool %s', async (word, tool) => {
  expect((await bodyOf('respond', ['hi', '--tool', word], { cwd: folder() }))['tools']).toEqual([tool])
})

test.each(['mcp:foo=notaurl', 'mcp:foo=ftp://host', 'mcp:foo=//host', 'mcp:foo=https://'])(
  '--tool %s names no server',
  async (word) => {
    const lines = [`--tool "${word}" names no URL that starts with https:// or http://.`]
    const hint = expect.stringContaining('mcp:LABEL=https://') as string
    expect(await refusalOf('respond', ['hi', '--tool', word])).toMatchObject({ exit: 2, lines, hint })
  },
)

test.each<[readonly string[], readonly string[]]>([
  [['--user', 'me'], ['--user is deprecated; use --safety-identifier and --prompt-cache-key.']],
  [['--safety-identifier', 'x'], []],
  [
    ['--temperature', '0.5', '--top-p', '0.9'],
    ['--temperature and --top-p are used together: adjust temperature or top_p, not both.'],
  ],
  [['--temperature', '0.5', '--body', '{"top_p":null}'], []],
  [['--temperature', '0.5', '--top-p', '0.9', '--no-validate'], []],
])('%j is sent, with the advice of the specification: %j', async (argv, warnings) => {
  expect((await textCall('respond', ['hi', ...argv])).request.warnings).toEqual(warnings)
})

test('the model can be left out: the gateway chooses', async () => {
  const env = { MODELGATE_BASE_URL: 'http://127.0.0.1:8080' }
  for (const argv of [['hi'], ['--sandbox', 'hi']]) {
    const { model, body } = (await textCall('respond', argv, { env })).request
    expect([model, body]).toEqual([null, { input: 'hi', stream: true }])
  }
})

test.each([
  ['respond', '--json', '--timeout', '5', 'hi'],
  ['respond', '--timeout', '5', 'hi', '--json'],
  ['respond', 'hi', '--json', '--timeout', '5'],
])('options may stand before the prompt and after it: %s %s %s %s %s', async (...argv) => {
  const { options, settings, request } = await wholeCall(argv)
  expect([options.json, settings.timeout.value, request.body['input']]).toEqual([true, 5, 'hi'])
})
