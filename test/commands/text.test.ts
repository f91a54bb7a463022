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
    'a:b': 'x',
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

test.each<[words: string, object]>([
  ['-s Briefly hi', { systemInstruction: { parts: [{ text: 'Briefly' }] } }],
  ['-s @system.txt hi', { systemInstruction: { parts: [{ text: 'Be brief.\n' }] } }],
  ['@prompt.txt', { contents: [user({ text: 'from a file' })] }],
  [String.raw`\@you there`, { contents: [user({ text: '@you there' })] }],
  ['-- --json is what?', { contents: [user({ text: '--json is what?' })] }],
  ['-a photo.jpg hi', attached({ inlineData: { mimeType: 'image/png', data: png.toString('base64') } })],
  ['-a a:b hi', attached({ inlineData: { mimeType: 'text/plain', data: 'eA==' } })],
  ['-a data.bin hi', attached({ inlineData: { mimeType: 'application/octet-stream', data: 'AAEC/w==' } })],
  [
    '-a https://a.test/a.png -a gs://bucket/thing hi',
    attached(
      { fileData: { mimeType: 'image/png', fileUri: 'https://a.test/a.png' } },
      { fileData: { fileUri: 'gs://bucket/thing' } },
    ),
  ],
  ['--history @history.json hi', { contents: [hi, { role: 'model', parts: [{ text: 'yo' }] }, hi] }],
  ['--history @generate.json hi', { contents: [hi, hi] }],
  ['--body @generate.json', { contents: [hi], generationConfig: { topK: 3 } }],
  ['--set contents=[{"parts":[{}]}]', { contents: [{ parts: [{}] }] }],
  ['hi --set cachedContent="c/1"', { contents: [hi], cachedContent: 'c/1' }],
  ['hi --generation-config {"topK":1,"own":2} --top-k 5', { generationConfig: { topK: 5, own: 2 } }],
])('generate %s', async (words, expected) => {
  expect(await bodyOf('generate', words.split(' '), { cwd: folder() })).toMatchObject(expected)
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

const noModels = '.. . models/.. %2e%2e models/ models/../x a/../b x/.'.split(' ')

test.each(noModels)('the model %j is refused', async (model) => {
  const line = expect.stringContaining(`-m ${JSON.stringify(model)} cannot be the model`) as string
  const refused = { exit: 2, code: 'invalid_request', lines: [line] }
  expect(await refusalOf('generate', ['-m', model, 'hi'])).toMatchObject(refused)
})

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

test.each<[words: string, object]>([
  ['--input hello', { input: 'hello' }],
  ['--input @prompt.txt', { input: 'from a file' }],
  ['--input @input.json', { input: [{ role: 'user', content: 'a' }] }],
  ['--input @input.json b', { input: [{ role: 'user', content: 'a' }, message(text('b'))] }],
  ['--no-input hi', { input: 'hi' }],
  ['--no-input --input hi', { input: 'hi' }],
  ['hi -s @system.txt', { instructions: 'Be brief.\n' }],
  ['-a photo.jpg hi', sentWith({ image_url: `data:image/png;base64,${png.toString('base64')}` })],
  [
    '-a paper.pdf hi',
    sentWith({ filename: 'paper.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjcK' }),
  ],
  ['-a https://a.test/a.webp hi', sentWith({ type: 'input_image', image_url: 'https://a.test/a.webp' })],
  ['-a https://a.test/ hi', sentWith({ type: 'input_file', file_url: 'https://a.test/' })],
  ['--body @respond.json', { input: 'hello', model: 'b', store: false }],
  ['--body @respond.json -m c', { model: 'c' }],
  ['hi -m c --set model="d"', { model: 'd' }],
  ['--set input="x"', { input: 'x' }],
  ['hi --set own.deep.0=1', { own: { deep: [1] } }],
  ['hi --conversation conv_1', { conversation: 'conv_1' }],
])('respond %s', async (words, expected) => {
  expect(await bodyOf('respond', words.split(' '), { cwd: folder() })).toMatchObject(expected)
})

test.each<[words: string, stream: boolean | null, streamed: boolean]>([
  ['hi', true, true],
  ['hi --stream', true, true],
  ['hi --no-stream', false, false],
  ['hi --background', false, false],
  ['hi --background --stream', true, true],
  ['hi --no-background', true, true],
  ['hi --set background=true', false, false],
  ['hi --set stream=null', null, false],
  ['hi --no-stream --set stream=true', true, true],
  ['hi --body {"stream":false}', false, false],
])('respond %s asks for a stream: %s', async (words, stream, streamed) => {
  const { request } = await textCall('respond', words.split(' '))
  expect([request.body['stream'], request.streamed]).toEqual([stream, streamed])
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

test.each(['notaurl', 'ftp://host', '//host', 'https://'])(
  '--tool mcp:foo=%s names no server',
  async (url) => {
    const word = `mcp:foo=${url}`
    const lines = [`--tool "${word}" names no URL that starts with https:// or http://.`]
    const hint = expect.stringContaining('mcp:LABEL=https://') as string
    expect(await refusalOf('respond', ['hi', '--tool', word])).toMatchObject({ exit: 2, lines, hint })
  },
)

const both = '--temperature and --top-p are used together: adjust temperature or top_p, not both.'

test.each<[words: string, warnings: readonly string[]]>([
  ['hi --user me', ['--user is deprecated; use --safety-identifier and --prompt-cache-key.']],
  ['hi --safety-identifier x', []],
  ['hi --temperature 0.5 --top-p 0.9', [both]],
  ['hi --temperature 0.5 --body {"top_p":null}', []],
  ['hi --temperature 0.5 --top-p 0.9 --no-validate', []],
])('respond %s is sent, with the advice of the specification: %j', async (words, warnings) => {
  expect((await textCall('respond', words.split(' '))).request.warnings).toEqual(warnings)
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
