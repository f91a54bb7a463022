import { expect, test } from 'vitest'
import { call, runningSandbox, type Json } from '../support/running-sandbox.ts'

const path = '/v1beta/models/m:generateContent'
const text = [{ text: 'hi' }]
const withPart = (part: Json) => ({ contents: [{ parts: [part] }] })
const functions = { tools: [{ functionDeclarations: [{ name: 'look' }] }] }

test.for<[field: string, problem: string, body: Json]>([
  ['contents[0].parts', 'must have at least 1 entry', { contents: [{ parts: [] }] }],
  ['contents[0].parts[0]', 'must have one of text, inlineData', withPart({})],
  ['contents[0].parts[0]', 'must have one of', withPart({ thought: true })],
  ['contents[0].parts[0]', 'must have only one of text and fileData', withPart({ text: 'a', fileData: {} })],
  ['contents[0].parts[0].text', 'must be text', withPart({ text: 5 })],
  ['contents[0].parts[0].inlineData', 'must be an object', withPart({ inlineData: 'AAAA' })],
  [
    'contents[0].parts[0].inlineData.mimeType',
    'Missing required parameter',
    withPart({ inlineData: { data: 'AAAA' } }),
  ],
  [
    'contents[0].parts[0].inlineData.mimeType',
    'must be a media type',
    withPart({ inlineData: { mimeType: 'png', data: 'AAAA' } }),
  ],
  [
    'contents[0].parts[0].inlineData.data',
    'must be base64',
    withPart({ inlineData: { mimeType: 'image/png', data: 'data:image/png;base64,AAAA' } }),
  ],
  [
    'contents[0].parts[0].fileData.fileUri',
    'Missing required parameter',
    withPart({ fileData: { mimeType: 'a/b' } }),
  ],
  ['contents[0].parts[0].functionCall.name', 'must be text', withPart({ functionCall: { name: 1 } })],
  [
    'contents[0].parts[0].functionResponse.response',
    'must be an object',
    withPart({ functionResponse: { name: 'look', response: 'text' } }),
  ],
  [
    'contents[0].parts[0].functionResponse',
    'must follow a functionCall of its name',
    withPart({ functionResponse: { name: 'look', response: {} } }),
  ],
  [
    'contents[1].role',
    'must be user or model',
    { contents: [{ parts: text }, { role: 'system', parts: text }] },
  ],
  ['systemInstruction.parts', 'must have at least 1 entry', { systemInstruction: { parts: [] } }],
  ['systemInstruction.parts[0]', 'must have one of', { systemInstruction: { parts: [{}] } }],
  [
    'toolConfig.functionCallingConfig.allowedFunctionNames[1]',
    'must be the name of a declared function',
    { ...functions, toolConfig: { functionCallingConfig: { allowedFunctionNames: ['look', 'hear'] } } },
  ],
  [
    'toolConfig.functionCallingConfig.mode',
    'must be one of AUTO, ANY, NONE, VALIDATED',
    { toolConfig: { functionCallingConfig: { mode: 'SOMETIMES' } } },
  ],
  [
    'toolConfig.functionCallingConfig.mode',
    'must have a function to call',
    { tools: [{ googleSearch: {} }], toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
  ],
  [
    'safetySettings[0].threshold',
    'must be one of BLOCK_LOW_AND_ABOVE, BLOCK_MEDIUM_AND_ABOVE, BLOCK_ONLY_HIGH, BLOCK_NONE, OFF',
    { safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK' }] },
  ],
  [
    'generationConfig.responseModalities[1]',
    'must be one of TEXT, IMAGE, AUDIO',
    { generationConfig: { responseModalities: ['TEXT', 'SMELL'] } },
  ],
  [
    'generationConfig.thinkingConfig.thinkingLevel',
    'must be one of MINIMAL, LOW, MEDIUM, HIGH',
    { generationConfig: { thinkingConfig: { thinkingLevel: 'DEEP' } } },
  ],
])('%s %s', async ([field, problem, body]) => {
  const sandbox = await runningSandbox()
  const { status, json } = await call(sandbox, path, { contents: [{ parts: text }], ...body })
  expect([status, json.error.status]).toEqual([400, 'INVALID_ARGUMENT'])
  expect(json.error.message).toContain(`'${field}'`)
  expect(json.error.message).toContain(problem)
  expect(json.error.details[0].fieldViolations[0].field).toBe(field)
  expect(sandbox.created()).toBe(0)
})

test('every kind of part is taken', async () => {
  const parts = [
    { text: '' },
    { text: 'thinking', thought: true, thoughtSignature: 'AAAA' },
    { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } },
    { inlineData: { mimeType: 'audio/L16;codec=pcm;rate=24000', data: 'AA-_' } },
    { fileData: { fileUri: 'https://example.com/a.pdf' } },
    { functionCall: { name: 'look', args: {} } },
    { functionResponse: { name: 'look', response: {} } },
    { executableCode: { language: 'PYTHON', code: '' } },
    { codeExecutionResult: { outcome: 'OUTCOME_OK' } },
    { toolCall: { toolType: 'URL_CONTEXT' } },
    { toolResponse: { toolType: 'URL_CONTEXT', response: {} } },
  ]
  const sandbox = await runningSandbox()
  for (const role of [undefined, 'user', 'model', 'function']) {
    const { status, json } = await call(sandbox, path, { contents: [{ role, parts }, { parts: text }] })
    expect([status, json.error]).toEqual([200, undefined])
  }
})

test('names are taken in snake case, too, and those of the caller are left alone', async () => {
  const schema = { type: 'object', properties: { first_name: { const: 'Ann' } }, required: ['first_name'] }
  const { json } = await call(await runningSandbox(), path, {
    contents: [{ parts: [{ text: 'hi' }, { inline_data: { mime_type: 'text/plain', data: 'YWJj' } }] }],
    generation_config: { response_mime_type: 'application/json', response_json_schema: schema },
  })
  expect(JSON.parse(json.candidates[0].content.parts[0].text as string)).toEqual({ first_name: 'Ann' })
})

test('words are taken in any case, with none chosen, and new ones where services add them', async () => {
  const sandbox = await runningSandbox()
  const { status } = await call(sandbox, path, {
    contents: [{ parts: text }],
    toolConfig: { functionCallingConfig: { mode: 'auto' } },
    safetySettings: [{ category: 'HARM_CATEGORY_IMAGE_HATE', threshold: 'HARM_BLOCK_THRESHOLD_UNSPECIFIED' }],
    generationConfig: { responseModalities: ['Text'], responseMimeType: 'application/yaml' },
  })
  expect(status).toBe(200)
})
