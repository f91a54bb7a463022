import { expect, test } from 'vitest'
import { call, eventsOf, generate, runningSandbox, type Json } from '../support/running-sandbox.ts'

const candidatesOf = (chunks: readonly Json[]): Json[] => chunks.flatMap((chunk) => chunk.candidates ?? [])
const partsOf = (chunks: readonly Json[]): Json[] =>
  candidatesOf(chunks).flatMap((candidate) => candidate.content.parts ?? [])
const textOf = (chunks: readonly Json[]) =>
  partsOf(chunks)
    .filter((part) => part.thought !== true)
    .map((part) => part.text ?? '')
    .join('')

test('a stream is CRLF data lines without names or [DONE], and ends with a finish reason', async () => {
  const sandbox = await runningSandbox()
  const answer = await generate(sandbox, 'Name three rivers')
  expect(answer.headers.get('content-type')).toBe('text/event-stream')
  expect(answer.text).toMatch(/^(data: \{.*\}\r\n\r\n)+$/)
  const chunks = eventsOf(answer)
  expect(chunks.length).toBeGreaterThan(10)
  const reasons = candidatesOf(chunks).map((candidate) => candidate.finishReason)
  expect(reasons.at(-1)).toBe('STOP')
  expect(reasons.slice(0, -1).every((reason) => reason === undefined)).toBe(true)
  expect(new Set(chunks.map((chunk) => chunk.responseId)).size).toBe(1)
  expect(chunks.every((chunk) => chunk.modelVersion === 'sandbox-text')).toBe(true)
})

test('an event stream comes without alt=sse, too, and a whole answer says the same', async () => {
  const sandbox = await runningSandbox()
  const more = { tools: [{ googleSearch: {} }, { codeExecution: {} }] }
  const body = { contents: [{ parts: [{ text: 'Add' }] }], ...more }
  const events = eventsOf(await generate(sandbox, 'Add', more))
  const plain = await call(sandbox, '/v1beta/models/sandbox-text:streamGenerateContent', body)
  expect(plain.headers.get('content-type')).toBe('text/event-stream')
  expect(textOf(eventsOf(plain))).toBe(textOf(events))
  const whole = await call(sandbox, '/v1beta/models/sandbox-text:generateContent', body)
  expect(textOf([whole.json])).toBe(textOf(events))
  expect(whole.json.usageMetadata).toEqual(events.at(-1)!.usageMetadata)
  const [{ content, ...ending }] = whole.json.candidates
  expect(partsOf(events).slice(0, 2)).toEqual(content.parts.slice(0, 2))
  // Metadata come in the last chunk.
  expect(candidatesOf(events).at(-1)).toMatchObject(ending)
  expect(candidatesOf(events).filter(({ groundingMetadata }) => groundingMetadata)).toHaveLength(1)
})

test('thoughts are shown on request, counted in any case, and off with a budget of 0', async () => {
  const sandbox = await runningSandbox()
  const withThinking = async (thinkingConfig: Json) =>
    eventsOf(await generate(sandbox, 'Think', { generationConfig: { thinkingConfig } }))
  const shown = await withThinking({ includeThoughts: true })
  expect(partsOf(shown)[0]).toMatchObject({ thought: true })
  const hidden = await withThinking({ thinkingBudget: 100 })
  expect(partsOf(hidden).some((part) => part.thought)).toBe(false)
  expect(hidden.at(-1)!.usageMetadata.thoughtsTokenCount).toBeGreaterThan(0)
  const off = await withThinking({ thinkingBudget: 0, includeThoughts: true })
  expect(off.at(-1)!.usageMetadata.thoughtsTokenCount).toBeUndefined()
})

test('as many candidates as asked, with their index, texts of their own and a finish reason each', async () => {
  const sandbox = await runningSandbox()
  const chunks = eventsOf(await generate(sandbox, 'Vary', { generationConfig: { candidateCount: 3 } }))
  const texts = [0, 1, 2].map((index) =>
    textOf([{ candidates: candidatesOf(chunks).filter((candidate) => candidate.index === index) }]),
  )
  expect(new Set(texts).size).toBe(3)
  expect(candidatesOf(chunks).filter((candidate) => candidate.finishReason === 'STOP')).toHaveLength(3)
})

test('a function named in the prompt is called, its answer is then spoken about, and NONE forbids it', async () => {
  const sandbox = await runningSandbox()
  const tools = [{ functionDeclarations: [{ name: 'get_weather' }] }]
  const [part] = partsOf(eventsOf(await generate(sandbox, 'Use get_weather', { tools })))
  expect(part.functionCall.name).toBe('get_weather')
  const contents = [
    { role: 'user', parts: [{ text: 'Use get_weather' }] },
    { role: 'model', parts: [part] },
    { role: 'user', parts: [{ functionResponse: { name: 'get_weather', response: { sky: 'clear' } } }] },
  ]
  const after = await call(sandbox, '/v1beta/models/m:generateContent', { contents, tools })
  expect(textOf([after.json])).toContain('{"sky":"clear"}')
  const toolConfig = { functionCallingConfig: { mode: 'NONE' } }
  const forbidden = partsOf(eventsOf(await generate(sandbox, 'Use get_weather', { tools, toolConfig })))
  expect(forbidden.some((entry) => entry.functionCall)).toBe(false)
})

test('JSON is answered for a schema in either spelling, and for the media type alone', async () => {
  const sandbox = await runningSandbox()
  const ask = async (generationConfig: Json) =>
    textOf(eventsOf(await generate(sandbox, 'Invent', { generationConfig })))
  const upper = { type: 'OBJECT', properties: { age: { type: 'INTEGER' } }, required: ['age'] }
  const responseMimeType = 'application/json'
  expect(await ask({ responseMimeType, responseSchema: upper })).toMatch(/^\{"age":\d+\}$/)
  const lower = { type: 'array', items: { const: 'x' }, minItems: 2 }
  expect(await ask({ responseMimeType, responseJsonSchema: lower })).toBe('["x","x"]')
  expect(JSON.parse(await ask({ responseMimeType }))).toMatchObject({ sandbox: true })
  const word = { type: 'STRING', enum: ['yes', 'no'] }
  expect(['yes', 'no']).toContain(await ask({ responseMimeType: 'text/x.enum', responseSchema: word }))
})

test('the token limit cuts with MAX_TOKENS, and nothing is visible when thinking used it up', async () => {
  const sandbox = await runningSandbox()
  const ask = async (generationConfig: Json) =>
    eventsOf(await generate(sandbox, 'Long', { generationConfig }))
  const cut = await ask({ maxOutputTokens: 5 })
  expect(candidatesOf(cut).at(-1).finishReason).toBe('MAX_TOKENS')
  expect(cut.at(-1)!.usageMetadata.candidatesTokenCount).toBe(5)
  const none = await ask({ maxOutputTokens: 3, thinkingConfig: { thinkingLevel: 'LOW' } })
  expect(textOf(none)).toBe('')
  expect(candidatesOf(none).at(-1).finishReason).toBe('MAX_TOKENS')
})

test('a stop sequence ends the text before it', async () => {
  const sandbox = await runningSandbox()
  const generationConfig = { stopSequences: ['never', '“hi'] }
  const chunks = eventsOf(await generate(sandbox, 'hi', { generationConfig }))
  expect(textOf(chunks)).toBe('[sandbox] You asked: ')
  expect(candidatesOf(chunks).at(-1).finishReason).toBe('STOP')
})

test('the prompt can ask for a size, and for all that Markdown has', async () => {
  const sandbox = await runningSandbox()
  const textFor = async (prompt: string) => textOf(eventsOf(await generate(sandbox, prompt)))
  expect((await textFor('sandbox:short')).split(/\s+/).length).toBeLessThan(40)
  expect((await textFor('sandbox:300-words')).split(/\s+/).length).toBeGreaterThanOrEqual(300)
  const text = await textFor('Explain a gateway, in Markdown')
  expect(text).toMatch(/^\[sandbox\] You asked: “Explain a gateway, in Markdown”\.\n\n## /)
  for (const mark of ['\n1. ', '\n   - ', '**', '`code`', '\n| :-', '\n```sh\n', '\n> '])
    expect(text).toContain(mark)
  expect(await textFor('Explain a gateway')).not.toContain('\n')
  expect(await textFor('Markdown, sandbox:short')).not.toContain('\n')
})
