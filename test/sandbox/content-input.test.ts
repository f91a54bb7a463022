import { expect, test } from 'vitest'
import { call, runningSandbox, type Json } from '../support/running-sandbox.ts'

const path = '/v1beta/models/m:generateContent'
const text = [{ text: 'hi' }]
const declared = { tools: [{ functionDeclarations: [{ name: 'look' }] }] }
const calling = (functionCallingConfig: Json) => ({ toolConfig: { functionCallingConfig } })

/** The violation of a body that is refused. */
async function violationOf(body: Json): Promise<{ field: string; description: string }> {
  const sandbox = await runningSandbox()
  const { status, json } = await call(sandbox, path, { contents: [{ parts: text }], ...body })
  expect([status, json.error.status, sandbox.created()]).toEqual([400, 'INVALID_ARGUMENT', 0])
  const [violation] = json.error.details[0].fieldViolations
  expect(json.error.message).toContain(`'${violation.field}'`)
  return { ...violation, description: json.error.message }
}

test.for<[field: string, problem: string, part: Json]>([
  ['', 'must have one of text, inlineData', {}],
  ['', 'must have one of', { thought: true }],
  ['', 'must have only one of text and fileData', { text: 'a', fileData: {} }],
  ['.text', 'must be text', { text: 5 }],
  ['.inlineData', 'must be an object', { inlineData: 'AAAA' }],
  ['.inlineData.mimeType', 'Missing required parameter', { inlineData: { data: 'AAAA' } }],
  ['.inlineData.mimeType', 'must be a media type', { inlineData: { mimeType: 'png', data: 'AAAA' } }],
  ['.inlineData.data', 'must be base64', { inlineData: { mimeType: 'image/png', data: 'data:image/png' } }],
  ['.fileData.fileUri', 'Missing required parameter', { fileData: { mimeType: 'a/b' } }],
  ['.functionCall.name', 'must be text', { functionCall: { name: 1 } }],
  ['.functionResponse.response', 'must be an object', { functionResponse: { name: 'look', response: 'a' } }],
  ['.functionResponse', 'must follow a functionCall', { functionResponse: { name: 'look', response: {} } }],
])('a part is refused: contents[0].parts[0]%s %s', async ([field, problem, part]) => {
  const violation = await violationOf({ contents: [{ parts: [part] }] })
  expect(violation.field).toBe(`contents[0].parts[0]${field}`)
  expect(violation.description).toContain(problem)
})

const config = 'toolConfig.functionCallingConfig'
const bySystem = { role: 'system', parts: text }
const hearing = { ...declared, ...calling({ allowedFunctionNames: ['look', 'hear'] }) }
const mustCall = calling({ mode: 'ANY' })

test.for<[field: string, problem: string, body: Json]>([
  ['contents[0].parts', 'must have at least 1 entry', { contents: [{ parts: [] }] }],
  ['contents[1].role', 'must be user or model', { contents: [{ parts: text }, bySystem] }],
  ['systemInstruction.parts', 'must have at least 1 entry', { systemInstruction: { parts: [] } }],
  ['systemInstruction.parts[0]', 'must have one of', { systemInstruction: { parts: [{}] } }],
  [`${config}.allowedFunctionNames[1]`, 'must be the name of a declared function', hearing],
  [`${config}.mode`, 'must be one of AUTO, ANY, NONE', calling({ mode: 'SOMETIMES' })],
  [`${config}.mode`, 'must have a function to call', { tools: [{ googleSearch: {} }], ...mustCall }],
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
  const violation = await violationOf(body)
  expect(violation.field).toBe(field)
  expect(violation.description).toContain(problem)
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
