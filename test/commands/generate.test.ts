import { expect, test } from 'vitest'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { bodyOf, configured, refusalOf, textCall } from '../support/text-call.ts'

const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const user = (...parts: unknown[]) => ({ role: 'user', parts })
const hi = user({ text: 'hi' })
const attached = (...parts: unknown[]) => ({ contents: [user(...parts, { text: 'hi' })] })
const schema = { type: 'object', properties: { age: { type: 'integer' } } }

function folder(): string {
  const cwd = temporaryFolder()
  writeFiles(cwd, {
    'photo.jpg': png,
    'data.bin': Uint8Array.of(0, 1, 2, 255),
    'system.txt': 'Be brief.\n',
    'prompt.txt': 'from a file',
    'schema.json': JSON.stringify(schema),
    'history.json': JSON.stringify([hi, { role: 'model', parts: [{ text: 'yo' }] }]),
    'request.json': JSON.stringify({ contents: [hi], generationConfig: { topK: 3 } }),
    'function.json': JSON.stringify({ name: 'f', parameters: {} }),
  })
  return cwd
}

test('sends one message to the streaming endpoint', async () => {
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
  ['a whole request as the history', ['--history', '@request.json', 'hi'], { contents: [hi, hi] }],
  ['a whole body', ['--body', '@request.json'], { contents: [hi], generationConfig: { topK: 3 } }],
  ['contents set by path', ['--set', 'contents=[{"parts":[{}]}]'], { contents: [{ parts: [{}] }] }],
  ['an unknown field', ['hi', '--set', 'cachedContent="c/1"'], { contents: [hi], cachedContent: 'c/1' }],
  [
    'field flags beside their object',
    ['hi', '--generation-config', '{"topK":1,"own":2}', '--top-k', '5', '--stop-sequences', 'END'],
    { generationConfig: { topK: 5, own: 2, stopSequences: ['END'] } },
  ],
])('%s', async (_, argv, expected) => {
  expect(await bodyOf('generate', argv, { cwd: folder() })).toMatchObject(expected as object)
})

test.each([
  ['inline', JSON.stringify(schema)],
  ['@file', '@schema.json'],
  ['a file name', 'schema.json'],
])('--schema %s asks for JSON that follows it, and keeps it for the answer', async (_, word) => {
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
])('--tool %s', async (word, tool) => {
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
