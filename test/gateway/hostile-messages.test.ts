import { expect, test } from 'vitest'
import { createContentDecoder } from '../../src/gateway/generate-content/decoder.ts'
import { createResponseDecoder } from '../../src/gateway/responses/decoder.ts'
import { decode } from './decode.ts'

// That any JSON is decoded or refused: the fuzz targets `content-chunks` and `response-events`.

test.for([-1, 1e9, 1024, 1.5, '1e9', '__proto__', 'x', true, {}, [1]])('refuses the index %j', (index) => {
  const chunk = { candidates: [{ index, content: { parts: [{ text: 'a' }] } }] }
  expect(decode(createContentDecoder, [chunk]).verdict).toBe('contract: reply_not_understood')
  for (const type of [
    'output_text.delta',
    'refusal.delta',
    'reasoning_text.delta',
    'output_item.done',
    'function_call_arguments.delta',
  ]) {
    const event = { type: `response.${type}`, output_index: index, delta: 'a', item: {} }
    expect(decode(createResponseDecoder, [event]).verdict).toBe('contract: reply_not_understood')
  }
})

test.for([undefined, null, '0', 0])('takes the index %j of an output', (index) => {
  const delta = { type: 'response.output_text.delta', delta: 'a', output_index: index }
  expect(decode(createResponseDecoder, [delta, { type: 'response.completed' }])).toMatchObject({
    verdict: 'ok',
    result: { text: 'a' },
  })
})

test.for([
  [],
  [{}],
  [null],
  [[]],
  [42],
  ['text'],
  [{ candidates: null }],
  [{ usageMetadata: {} }],
  [{ type: 'ping' }],
  [{ type: null }],
])('a reply of which nothing is known breaks the contract: %j', (...[messages]) => {
  for (const create of [createContentDecoder, createResponseDecoder]) {
    expect(decode(create, messages).verdict).toBe('contract: reply_not_understood')
  }
})

test('survives many items and citations', () => {
  // Comparing each with every other would not end within the limit of this test.
  const urls = Array.from({ length: 100_000 }, (_, number) => `https://a.test/${number}`)
  const citationSources = urls.map((uri) => ({ uri }))
  const chunk = { candidates: [{ citationMetadata: { citationSources } }] }
  expect(decode(createContentDecoder, [chunk]).result.citations).toHaveLength(100_000)
  const annotations = urls.map((url) => ({ url }))
  const message = { type: 'message', content: [{ type: 'output_text', text: 'a', annotations }] }
  const items = Array.from({ length: 2_000 }, () => ({ type: 'web_search_call' }))
  const response = { object: 'response', status: 'completed', output: [message, ...items] }
  expect(decode(createResponseDecoder, [response]).result.citations).toHaveLength(100_000)
})
