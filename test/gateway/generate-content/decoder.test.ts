import { expect, test } from 'vitest'
import { createContentDecoder } from '../../../src/gateway/generate-content/decoder.ts'
import { decode as decodeWith, eventsOf } from '../decode.ts'

const decode = (messages: readonly unknown[], options?: { marked: boolean }) =>
  decodeWith(createContentDecoder, messages, options)

const chunk = (parts: readonly unknown[], more: object = {}) => {
  return { candidates: [{ content: { parts, role: 'model' }, ...more }] }
}
const lost = 'unknown: connection_lost'
const stop = chunk([], { finishReason: 'STOP' })

test('joins the text of the parts, and leaves thoughts out of it', () => {
  const decoded = decode([
    chunk([{ text: 'Let me see. ', thought: true }, { text: 'Hel' }]),
    chunk([{ text: '' }, { text: 'lo', thoughtSignature: 'c2ln' }, { text: 'Yes.', thought: true }]),
    stop,
  ])
  expect(decoded).toMatchObject({
    verdict: 'ok',
    result: { text: 'Hello', reasoning: 'Let me see. Yes.', finish_reason: 'stop' },
  })
  const kinds = decoded.events.map(({ type }) => type)
  expect(kinds).toEqual(['reasoning-delta', 'text-delta', 'text-delta', 'reasoning-delta'])
})

test('keeps candidates apart by their index, whatever the order', () => {
  const candidate = (index: unknown, text: string, finishReason?: string) => {
    return { candidates: [{ index, content: { parts: [{ text }] }, finishReason }] }
  }
  const decoded = decode([
    candidate(1, 'b', undefined),
    candidate('0', 'a'),
    candidate(null, 'A'),
    candidate(1, 'B', 'MAX_TOKENS'),
    candidate(undefined, '!', 'STOP'),
  ])
  expect(decoded.result.candidates).toEqual([
    { index: 0, text: 'aA!', finish_reason: 'stop' },
    { index: 1, text: 'bB', finish_reason: 'length' },
  ])
  expect(decoded.result).toMatchObject({ text: 'aA!', finish_reason: 'stop', raw_finish_reason: 'STOP' })
  expect(decoded.verdict).toBe('ok')
})

test('one good candidate makes a good reply, one unfinished an incomplete one', () => {
  const blocked = { index: 0, finishReason: 'SAFETY' }
  const good = { index: 1, content: { parts: [{ text: 'x' }] }, finishReason: 'STOP' }
  expect(decode([{ candidates: [blocked, good] }])).toMatchObject({ verdict: 'ok', state: 'settled' })
  const open = { ...good, finishReason: undefined }
  expect(decode([{ candidates: [open, blocked] }])).toMatchObject({ verdict: lost, state: 'open' })
})

test.for([
  ['stop', 'ok', 'STOP'],
  ['length', 'ok', 'MAX_TOKENS'],
  ['content_filter', 'failed: content_refused', 'SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII'],
  ['content_filter', 'failed: content_refused', 'IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION'],
  ['content_filter', 'failed: content_refused', 'MODEL_ARMOR'],
  ['other', 'failed: generation_failed', 'LANGUAGE OTHER IMAGE_OTHER NO_IMAGE'],
  ['error', 'failed: generation_failed', 'MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL'],
  ['error', 'failed: generation_failed', 'TOO_MANY_TOOL_CALLS MISSING_THOUGHT_SIGNATURE MALFORMED_RESPONSE'],
  ['unknown', 'ok', 'A_WORD_OF_2030 __proto__ constructor'],
] as const)('the finish reason %s, %s: %s', ([reason, verdict, words]) => {
  for (const finishReason of words.split(' ')) {
    const result = { text: 'Some text', finish_reason: reason, raw_finish_reason: finishReason }
    expect(decode([chunk([{ text: 'Some text' }], { finishReason })])).toMatchObject({ verdict, result })
  }
})

test('FINISH_REASON_UNSPECIFIED is an end only where the stream ends in order after it', () => {
  const unspecified = chunk([{ text: 'a' }], { finishReason: 'FINISH_REASON_UNSPECIFIED' })
  // Open, because a connection that breaks now has lost something.
  expect(decode([unspecified])).toMatchObject({
    state: 'open',
    verdict: 'ok',
    result: { text: 'a', finish_reason: 'unknown', raw_finish_reason: 'FINISH_REASON_UNSPECIFIED' },
  })
  expect(decode([unspecified, stop])).toMatchObject({ state: 'settled', verdict: 'ok' })
  expect(decode([unspecified, chunk([{ text: 'b' }])]).verdict).toBe(lost)
  expect(decode([{ candidates: [{ finishReason: 'FINISH_REASON_UNSPECIFIED' }] }]).verdict).not.toBe('ok')
})

test.for([
  ['MAX_TOKENS', 'failed: no_text_before_limit'],
  ['STOP', 'failed: nothing_generated'],
  ['A_WORD_OF_2030', 'failed: nothing_generated'],
])('no text at all and %s: %s', ([finishReason, verdict]) => {
  for (const parts of [undefined, [], [{ text: '' }], [{ text: null }], [{ thought: true, text: 'Hm.' }]]) {
    const message = { candidates: [{ content: { parts }, finishReason }] }
    expect(decode([message]).verdict).toBe(verdict)
  }
})

test('an end that no chunk tells is a truncation, unless the stream was closed with a mark', () => {
  expect(decode([chunk([{ text: 'a' }])])).toMatchObject({ state: 'open', verdict: lost })
  expect(decode([chunk([{ text: 'a' }])], { marked: true }).verdict).toBe('ok')
})

test('reads a whole reply in an array', () => {
  expect(decode([[chunk([{ text: 'a' }]), stop]])).toMatchObject({ verdict: 'ok', result: { text: 'a' } })
})

test.for([
  ['SAFETY', undefined],
  ['JAILBREAK', 'Do not do that.'],
  ['A_WORD_OF_2030', undefined],
  // A block where nothing else comes.
  ['BLOCK_REASON_UNSPECIFIED', undefined],
])('a prompt blocked for %s is a failure', ([blockReason, blockReasonMessage]) => {
  expect(decode([{ promptFeedback: { blockReason, blockReasonMessage } }])).toMatchObject({
    state: 'settled',
    verdict: 'failed: content_refused',
    result: { finish_reason: 'content_filter', raw_finish_reason: blockReason },
    events: [{ type: 'prompt-block', reason: blockReason, message: blockReasonMessage ?? null }],
  })
})

test.for(['BLOCK_REASON_UNSPECIFIED', 'BLOCKED_REASON_UNSPECIFIED', null, 7])(
  'prompt feedback with %s blocks nothing that comes with it',
  (blockReason) => {
    expect(decode([{ promptFeedback: { blockReason } }, chunk([{ text: 'a' }]), stop]).verdict).toBe('ok')
  },
)

test('the last count of tokens counts: thoughts as output, what tools found as input', () => {
  const first = { usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 1 } }
  const usageMetadata = {
    promptTokenCount: 15,
    toolUsePromptTokenCount: 770,
    candidatesTokenCount: 51,
    thoughtsTokenCount: 45,
    totalTokenCount: 881,
    cachedContentTokenCount: 3,
  }
  expect(decode([first, { usageMetadata }, {}]).result.usage).toEqual({
    input_tokens: 785,
    cached_tokens: 3,
    output_tokens: 96,
    reasoning_tokens: 45,
    total_tokens: 881,
  })
})

test.for([
  [{ candidatesTokenCount: 5 }, 5],
  [{ thoughtsTokenCount: 4 }, 4],
  [{}, null],
  [{ candidatesTokenCount: '5', thoughtsTokenCount: null }, null],
  [{ candidatesTokenCount: 2.5, thoughtsTokenCount: -3 }, null],
  [null, undefined],
  ['many', undefined],
  [[], undefined],
] as const)('output tokens of %j are %s', ([usageMetadata, output]) => {
  expect(decode([{ usageMetadata }]).result.usage?.output_tokens).toBe(output)
})

test('reports each kind of part', () => {
  const decoded = decode([
    chunk([
      { executableCode: { language: 'PYTHON', code: 'print(1)' } },
      { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1\n' } },
      { codeExecutionResult: { outcome: 'OUTCOME_FAILED' } },
      { inlineData: { mimeType: 'image/png', data: 'aWM=' } },
      { inline_data: { mime_type: 'image/webp', data: 'aWM=' } },
      { inlineData: { data: 'aWM=' } },
      { fileData: { fileUri: 'https://example.test/a' } },
      { functionResponse: { name: 'f', response: {} }, thoughtSignature: 'c2ln' },
      { thoughtSignature: 'c2ln' },
      { toolCall: { toolType: 'x' }, thought: true },
      { somethingNew: 1 },
      null,
      'text',
    ]),
    stop,
  ])
  expect(decoded.verdict).toBe('ok')
  expect(decoded.events).toEqual([
    { type: 'code-run', language: 'PYTHON', code: 'print(1)' },
    { type: 'code-result', outcome: 'OUTCOME_OK', output: '1\n' },
    { type: 'code-result', outcome: 'OUTCOME_FAILED', output: '' },
    { type: 'image-data', mime_type: 'image/png', base64: 'aWM=', partial: false },
    { type: 'image-data', mime_type: 'image/webp', base64: 'aWM=', partial: false },
    { type: 'image-data', mime_type: 'application/octet-stream', base64: 'aWM=', partial: false },
    expect.objectContaining({ type: 'item-add', kind: 'fileData' }),
    expect.objectContaining({ type: 'item-add', kind: 'functionResponse' }),
    expect.objectContaining({ type: 'item-add', kind: 'toolCall' }),
    expect.objectContaining({ type: 'item-add', kind: 'somethingNew', item: { somethingNew: 1 } }),
  ])
})

test('reports whole function calls in their order', () => {
  const decoded = decode([
    chunk([{ functionCall: { id: 'c1', name: 'f', args: { a: 1 } }, thoughtSignature: 'c2ln' }]),
    chunk([{ functionCall: { name: 'g' } }, { functionCall: null }], { finishReason: 'STOP' }),
  ])
  const calls = [
    { type: 'function', id: 'c1', name: 'f', arguments: { a: 1 } },
    { type: 'function', id: null, name: 'g', arguments: {} },
  ]
  expect(decoded).toMatchObject({ verdict: 'ok', result: { finish_reason: 'tool_calls', tool_calls: calls } })
  expect(decoded.events).toEqual(calls.map((call, index) => ({ type: 'tool-call', index, call })))
})

test('puts together a function call that comes in pieces', () => {
  const piece = (call: object) => chunk([{ functionCall: call }])
  const more = (...partialArgs: object[]) => piece({ partialArgs, willContinue: true })
  const decoded = decode([
    piece({ name: 'f', id: 'c1', willContinue: true }),
    more({ jsonPath: '$.a', stringValue: 'Ber' }),
    more({ jsonPath: '$.a', stringValue: 'lin' }, { jsonPath: '$.b[0].c', numberValue: 2 }),
    piece({}),
    piece({ name: 'g', partialArgs: [{ jsonPath: '$.x', boolValue: false }] }),
    stop,
  ])
  expect(decoded.result.tool_calls).toEqual([
    { type: 'function', id: 'c1', name: 'f', arguments: { a: 'Berlin', b: [{ c: 2 }] } },
    { type: 'function', id: null, name: 'g', arguments: { x: false } },
  ])
  const deltas = eventsOf(decoded, 'tool-delta').map(({ index, name }) => `${index} ${name}`)
  expect(deltas).toEqual(['0 f', '0 f', '1 g'])
})

test('closes a function call that the stream left open', () => {
  const open = chunk([{ functionCall: { name: 'f', willContinue: true } }])
  expect(decode([open, stop]).result.tool_calls).toHaveLength(1)
  const result = { tool_calls: [{ name: 'f' }] }
  expect(decode([open], { marked: true })).toMatchObject({ verdict: 'ok', result })
})

test('names each source once', () => {
  const cited = { uri: 'https://a.test', startIndex: 1, endIndex: 5, license: 'mit' }
  const citationSources = [cited, { uri: 'https://d.test', startIndex: -1, endIndex: 2 }, {}]
  const groundingChunks = [{ web: { uri: 'https://b.test', title: 'B' } }, { maps: null }]
  const grounded = chunk([], {
    citationMetadata: { citationSources },
    groundingMetadata: { groundingChunks },
  })
  const citations = [{ title: 'C', license: '' }, { license: 'gpl' }]
  const vertex = chunk([], { citationMetadata: { citations } })
  const decoded = decode([grounded, grounded, vertex, stop])
  expect(decoded.result.citations).toEqual([
    { url: 'https://a.test', title: null, start: 1, end: 5, license: 'mit', file_id: null },
    { url: 'https://d.test', title: null, start: null, end: 2, license: null, file_id: null },
    { url: 'https://b.test', title: 'B', start: null, end: null, license: null, file_id: null },
    { url: null, title: 'C', start: null, end: null, license: null, file_id: null },
    { url: null, title: null, start: null, end: null, license: 'gpl', file_id: null },
  ])
  expect(eventsOf(decoded, 'citation-add')).toHaveLength(5)
})

test('reports safety ratings that say something', () => {
  const high = { category: 'HARM_CATEGORY_HARASSMENT', probability: 'HIGH' }
  const blocked = { category: 'HARM_CATEGORY_HATE_SPEECH', probability: 'LOW', blocked: true }
  const decoded = decode([
    { candidates: [{ safetyRatings: [high, { probability: 'NEGLIGIBLE' }, blocked] }] },
    { candidates: [{ safetyRatings: [{ probability: 'LOW' }] }] },
    { candidates: [{ safetyRatings: 'none' }] },
  ])
  expect(decoded.events).toEqual([{ type: 'safety-report', ratings: [high, blocked] }])
})

test.for([
  [{ error: { code: 499, message: 'The operation was cancelled.', status: 'CANCELLED' } }, 'cancelled'],
  [[{ error: { code: 400, message: 'The operation was cancelled.' } }], 'error_in_reply'],
  [{ type: 'error', code: 'cancelled', message: 'The operation was cancelled.' }, 'cancelled'],
  [{ type: 'upstream_error', message: 'The operation was cancelled.' }, 'upstream_error'],
] as const)('an error object in the stream is a failure: %j', ([message, code]) => {
  expect(decode([chunk([{ text: 'Some' }]), message])).toMatchObject({
    verdict: `failed: ${code}`,
    error: { message: 'The gateway reported an error: The operation was cancelled.' },
    result: { text: 'Some' },
  })
})

test.for([
  [{ finishReason: 'SPII', finishMessage: 'It names\n a person.' }, 'SPII: It names a person.'],
  [{ finishReason: 'SAFETY', finishMessage: 5 }, 'SAFETY'],
] as const)('tells in the words of the gateway why it blocked an answer: %j', ([end, words]) => {
  const expected = `The gateway blocked the answer (${words}).`
  expect(decode([chunk([{ text: 'a' }], end)]).error?.message).toBe(expected)
  const promptFeedback = { blockReason: end.finishReason, blockReasonMessage: end.finishMessage }
  expect(decode([{ promptFeedback }]).error?.message).toBe(expected)
})

test('shortens the words of the gateway', () => {
  const long = chunk([], { finishReason: 'OTHER', finishMessage: 'x'.repeat(10_000) })
  expect(decode([long]).error?.message).toMatch(/^.{0,40}\(OTHER: x{400,500}[^x]{1,20}$/)
})

test('an error of null is none', () => {
  const end = { ...stop, error: null }
  expect(decode([chunk([{ text: 'a' }]), end]).verdict).toBe('ok')
})

test('merges the chunks into one object', () => {
  const decoded = decode([
    { ...chunk([{ text: 'a' }]), responseId: 'r', turnToken: 't', modelVersion: 'm-1' },
    { ...chunk([{ text: 'b', thought: true }, { text: 'c' }]), modelVersion: null },
    { ...chunk([{ text: 'd' }], { finishReason: 'STOP' }), usageMetadata: { totalTokenCount: 3 } },
  ])
  const parts = [{ text: 'a' }, { text: 'b', thought: true }, { text: 'cd' }]
  expect(decoded.result).toMatchObject({
    response_id: 'r',
    model: 'm-1',
    response: {
      ...chunk(parts, { finishReason: 'STOP' }),
      responseId: 'r',
      turnToken: 't',
      usageMetadata: { totalTokenCount: 3 },
    },
  })
})

test('a call that the reply itself answers is none for the caller', () => {
  const functionCall = { id: 'c1', name: 'weather_look_up', args: { city: 'Graz' } }
  const functionResponse = { id: 'c1', name: 'weather_look_up', response: { sky: 'clear' } }
  const other = { name: 'get_time', args: {} }
  const { id: _, ...nameless } = functionResponse
  const answered = decode([
    chunk([{ functionCall }], { finishReason: 'STOP' }),
    chunk([{ functionResponse }]),
    chunk([{ text: 'Clear.' }], { finishReason: 'STOP' }),
  ])
  expect(answered).toMatchObject({
    verdict: 'ok',
    result: { text: 'Clear.', tool_calls: [], finish_reason: 'stop' },
    events: [
      { type: 'tool-call' },
      { type: 'item-add', kind: 'functionResponse', summary: 'weather_look_up: {"sky":"clear"}' },
      { type: 'text-delta' },
    ],
  })
  const mixed = chunk([{ functionCall }, { functionCall: other }, { functionResponse: nameless }])
  expect(decode([mixed, stop]).result).toMatchObject({
    finish_reason: 'tool_calls',
    tool_calls: [{ name: 'get_time' }],
  })
})

test('searches, pages and calls at the gateway are told once, in a line', () => {
  const groundingMetadata = { webSearchQueries: ['rivers', 'lakes'], retrievalQueries: ['notes'] }
  const urlMetadata = [
    { retrievedUrl: 'https://example.com/a', urlRetrievalStatus: 'URL_RETRIEVAL_STATUS_SUCCESS' },
    { retrievedUrl: 'https://example.com/b', urlRetrievalStatus: 'URL_RETRIEVAL_STATUS_PAYWALL' },
  ]
  const more = { groundingMetadata, urlContextMetadata: { urlMetadata } }
  const { events } = decode([
    chunk([{ toolCall: { toolType: 'URL_CONTEXT', args: { urls: 2 } } }]),
    chunk([{ toolResponse: { toolType: 'URL_CONTEXT', response: { pages: 1 } } }]),
    chunk([{ fileData: { fileUri: 'https://example.com/c' } }], more),
    chunk([{ text: 'x' }], { finishReason: 'STOP', ...more }),
  ])
  const lines = events.flatMap((event) =>
    event.type === 'item-add' ? `${event.kind}: ${event.summary}` : [],
  )
  expect(lines).toEqual([
    'toolCall: URL_CONTEXT({"urls":2})',
    'toolResponse: URL_CONTEXT: {"pages":1}',
    'fileData: https://example.com/c',
    'search: rivers, lakes, notes',
    'url: https://example.com/a (SUCCESS)',
    'url: https://example.com/b (PAYWALL)',
  ])
})
