import { expect, test } from 'vitest'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { bodyOf, configured, refusalOf, textCall, wholeCall } from '../support/text-call.ts'

const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const user = (...parts: unknown[]) => ({ role: 'user', parts })
const hi = user({ text: 'hi' })
const attached = (...parts: unknown[]) => ({ contents: [user(...parts, { text: 'hi' })] })
const schema = { title: 'A person!', type: 'object' }

function folder(): string {
  const cwd = temporaryFolder()
  writeFiles(cwd, {
    'photo.jpg': png,
    'data.bin': Uint8Array.of(0, 1, 2, 255),
    'system.txt': 'Be brief.\n',
    'prompt.txt': 'from a file',
    'paper.pdf': '%PDF-1.7\n',
    'schema.json': JSON.stringify(schema),
    'history.json': JSON.stringify([hi, { role: 'model', parts: [{ text: 'yo' }] }]),
    'generate.json': JSON.stringify({ contents: [hi], generationConfig: { topK: 3 } }),
    'input.json': '[{"role":"user","content":"a"}]',
    'respond.json': '{"input":"hello","model":"b","store":false}',
    'function.json': JSON.stringify({ name: 'f', parameters: {} }),
  })
  return cwd
}

test('generate sends one message to the streaming endpoint', async () => {
  const { request } = await textCall('generate', ['Name', 'three rivers'])
  const body = { contents: [user({ text: 'Name three rivers' })] }
  expect(request).toMatchObject({
    command: 'generate',
    query: { alt: 'sse' },
    streamed: true,
    warnings: [],
    body,
  })
})

test.each<[string, readonly string[], unknown]>([
  ['system text', ['-s', 'Be brief', 'hi'], { systemInstruction: { parts: [{ text: 'Be brief' }] } }],
  ['a system file', ['-s', '@system.txt', 'hi'], { systemInstruction: { parts: [{ text: 'Be brief.\n' }] } }],
  ['a prompt from a file', ['@prompt.txt'], { contents: [user({ text: 'from a file' })] }],
  ['a prompt with an escaped @', [String.raw`\@you`, 'there'], { contents: [user({ text: '@you there' })] }],
  ['words after --', ['--', '--json', 'is', 'what?'], { contents: [user({ text: '--json is what?' })] }],
  [
    'a picture by its bytes, before the text',
    ['-a', 'photo.jpg', 'hi'],
    attached({ inlineData: { mimeType: 'image/png', data: png.toString('base64') } }),
  ],
  [
    'unknown bytes',
    ['-a', 'data.bin', 'hi'],
    attached({ inlineData: { mimeType: 'application/octet-stream', data: 'AAEC/w==' } }),
  ],
  [
    'URLs, in order',
    ['-a', 'https://example.com/a.png', '-a', 'gs://bucket/thing', 'hi'],
    attached(
      { fileData: { mimeType: 'image/png', fileUri: 'https://example.com/a.png' } },
      { fileData: { fileUri: 'gs://bucket/thing' } },
    ),
  ],
  [
    'a history from a file, then the prompt',
    ['--history', '@history.json', 'hi'],
    { contents: [hi, { role: 'model', parts: [{ text: 'yo' }] }, hi] },
  ],
  ['a whole request as the history', ['--history', '@generate.json', 'hi'], { contents: [hi, hi] }],
  ['a whole body', ['--body', '@generate.json'], { contents: [hi], generationConfig: { topK: 3 } }],
  ['contents set by path', ['--set', 'contents=[{"parts":[{}]}]'], { contents: [{ parts: [{}] }] }],
  ['an unknown field', ['hi', '--set', 'cachedContent="c/1"'], { contents: [hi], cachedContent: 'c/1' }],
  [
    'field flags beside their object',
    ['hi', '--generation-config', '{"topK":1,"own":2}', '--top-k', '5', '--stop-sequences', 'END'],
    { generationConfig: { topK: 5, own: 2, stopSequences: ['END'] } },
  ],
])('generate sends %s', async (_, argv, expected) => {
  expect(await bodyOf('generate', argv, { cwd: folder() })).toMatchObject(expected as object)
})

test.each([
  ['inline', JSON.stringify(schema)],
  ['@file', '@schema.json'],
  ['a file name', 'schema.json'],
])('generate --schema %s asks for JSON that follows it, and keeps it for the answer', async (_, word) => {
  const { request } = await textCall('generate', ['hi', '--schema', word], { cwd: folder() })
  expect(request.body['generationConfig']).toEqual({
    responseMimeType: 'application/json',
    responseJsonSchema: schema,
  })
  expect(request.answerSchema?.schema).toEqual(schema)
})

test.each<[string, unknown]>([
  ['google_search', { googleSearch: {} }],
  ['code_execution', { codeExecution: {} }],
  ['url_context', { urlContext: {} }],
  ['google_maps', { googleMaps: {} }],
  ['@function.json', { functionDeclarations: [{ name: 'f', parameters: {} }] }],
  ['{"name":"g"}', { functionDeclarations: [{ name: 'g' }] }],
  ['{"fileSearch":{"topK":1}}', { fileSearch: { topK: 1 } }],
])('generate --tool %s', async (word, tool) => {
  expect((await bodyOf('generate', ['hi', '--tool', word], { cwd: folder() }))['tools']).toEqual([tool])
})

test('--tool adds to --tools', async () => {
  const argv = ['hi', '--tools', '[{"own":1}]', '--tool', 'url_context', '--tool', 'google_search']
  const tools = [{ own: 1 }, { urlContext: {} }, { googleSearch: {} }]
  expect(await bodyOf('generate', argv)).toMatchObject({ tools })
})

const none = { category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }
const hate = { category: 'HARM_CATEGORY_HATE_SPEECH', threshold: 'OFF' }
const before = ['--safety-settings', JSON.stringify([hate, { ...none, threshold: 'OFF' }])]

test.each<[string, readonly string[], readonly unknown[]]>([
  ['harassment=BLOCK_NONE', [], [none]],
  ['HARM_CATEGORY_HARASSMENT=block-none', [], [none]],
  [' Harassment = block_none ', [], [none]],
  ['harassment=block_none', before, [hate, none]],
])('--safety %j sets its own category, after %j', async (word, argv, settings) => {
  expect((await bodyOf('generate', ['hi', ...argv, '--safety', word]))['safetySettings']).toEqual(settings)
})

test.each<[string, readonly string[], string, string, string]>([
  ['the environment', [], 'e', 'e', 'e'],
  ['-m over the environment', ['-m', 'a'], 'e', 'a', 'a'],
  ['the sandbox', ['--sandbox'], '', 'sandbox-text', 'sandbox-text'],
  ['a prefix', ['-m', 'models/a'], '', 'models/a', 'a'],
  ['a slash', ['-m', 'vendor/a'], '', 'vendor/a', 'vendor%2Fa'],
  ['a colon', ['-m', 'a:free'], '', 'a:free', 'a%3Afree'],
  ['other letters', ['-m', 'modèle ?#%'], '', 'modèle ?#%', 'mod%C3%A8le%20%3F%23%25'],
])('the model: %s', async (_, argv, fromEnv, model, segment) => {
  const env = { ...configured, MODELGATE_TEXT_MODEL: fromEnv }
  const { request } = await textCall('generate', [...argv, 'hi'], { env })
  expect(request).toMatchObject({ model, path: `/v1beta/models/${segment}:streamGenerateContent` })
})

test.each(['..', '.', 'models/..', '%2e%2e', 'models/', 'models/../x', 'a/../b', 'x/.'])(
  'the model %j is refused',
  async (model) => {
    const line = expect.stringContaining(`-m ${JSON.stringify(model)} cannot be the model`) as string
    const refused = { exit: 2, code: 'invalid_request', lines: [line] }
    expect(await refusalOf('generate', ['-m', model, 'hi'])).toMatchObject(refused)
  },
)

test.each([
  [['--tools', '@-'], '[{"own":1}]', { tools: [{ own: 1 }], contents: [hi] }],
  [['--body', '@-'], '{"tools":[]}', { tools: [], contents: [hi] }],
  [['--system', '@-'], 'be', { systemInstruction: { parts: [{ text: 'be' }] }, contents: [hi] }],
  [['--history', '@-'], '[]', { contents: [hi] }],
  [['-a', '-'], 'text', attached({ inlineData: { mimeType: 'text/plain', data: 'dGV4dA==' } })],
])('%j reads standard input, which is then no prompt', async (argv, stdin, expected) => {
  expect(await bodyOf('generate', [...argv, 'hi'], { stdin })).toEqual(expected)
})

const message = (...content: unknown[]) => ({ role: 'user', content })
const text = (words: string) => ({ type: 'input_text', text: words })
const sentWith = (...parts: unknown[]) => ({ input: [message(...parts, text('hi'))] })

test('respond sends one text to the endpoint, streamed', async () => {
  const { request } = await textCall('respond', ['Name', 'three rivers'])
  expect(request).toMatchObject({ command: 'respond', model: 'm', path: '/v1/responses', streamed: true })
  expect(request.query).toBeUndefined()
  expect(request.body).toEqual({ input: 'Name three rivers', model: 'm', stream: true })
})

test.each<[string, readonly string[], Record<string, unknown>]>([
  ['text as --input', ['--input', 'hello'], { input: 'hello' }],
  ['a text file as --input', ['--input', '@prompt.txt'], { input: 'from a file' }],
  ['a JSON file as --input', ['--input', '@input.json'], { input: [{ role: 'user', content: 'a' }] }],
  [
    'messages as --input, then the prompt',
    ['--input', '[{"role":"user","content":"a"}]', 'b'],
    { input: [{ role: 'user', content: 'a' }, message(text('b'))] },
  ],
  ['--no-input beside a prompt', ['--no-input', 'hi'], { input: 'hi' }],
  ['--no-input beside --input', ['--no-input', '--input', 'hi'], { input: 'hi' }],
  ['a system instruction', ['hi', '-s', '@system.txt'], { instructions: 'Be brief.\n' }],
  [
    'a picture by its bytes',
    ['-a', 'photo.jpg', 'hi'],
    sentWith({ type: 'input_image', image_url: `data:image/png;base64,${png.toString('base64')}` }),
  ],
  [
    'a PDF',
    ['-a', 'paper.pdf', 'hi'],
    sentWith({ filename: 'paper.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjcK' }),
  ],
  [
    'URLs',
    ['-a', 'https://a.test/a.webp', '-a', 'https://a.test/', 'hi'],
    sentWith(
      { type: 'input_image', image_url: 'https://a.test/a.webp' },
      { type: 'input_file', file_url: 'https://a.test/' },
    ),
  ],
  ['a whole body', ['--body', '@respond.json'], { input: 'hello', model: 'b', store: false }],
  ['-m over the body', ['--body', '@respond.json', '-m', 'c'], { model: 'c' }],
  ['--set over -m', ['hi', '-m', 'c', '--set', 'model="d"'], { model: 'd' }],
  ['an input set by path', ['--set', 'input="x"'], { input: 'x' }],
  ['an unknown field', ['hi', '--set', 'own.deep.0=1'], { own: { deep: [1] } }],
  ['a conversation id', ['hi', '--conversation', 'conv_1'], { conversation: 'conv_1' }],
])('respond sends %s', async (_, argv, expected) => {
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
])('respond --schema %s', async (_, word, name) => {
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
])('respond --tool %s', async (word, tool) => {
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

test('the model of respond can be left out: the gateway chooses', async () => {
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
