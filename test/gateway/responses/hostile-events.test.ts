import { expect, test } from 'vitest'
import { createResponseDecoder } from '../../../src/gateway/responses/decoder.ts'
import { decode as decodeWith } from '../decode.ts'
import { badIndexes } from '../hostile-values.ts'

const decode = (...messages: readonly unknown[]) => decodeWith(createResponseDecoder, messages)

test.for(badIndexes)('refuses an event for the output with index %j', (index) => {
  for (const type of [
    'output_text.delta',
    'refusal.delta',
    'reasoning_text.delta',
    'output_item.done',
    'function_call_arguments.delta',
  ]) {
    const decoded = decode({ type: `response.${type}`, output_index: index, delta: 'a', item: {} })
    expect(decoded.verdict).toBe('contract: reply_not_understood')
  }
})

test('takes an index that is missing, null or a text with a number', () => {
  for (const index of [undefined, null, '0', 0]) {
    const delta = { type: 'response.output_text.delta', delta: 'a', output_index: index }
    expect(decode(delta, { type: 'response.completed' })).toMatchObject({
      verdict: 'ok',
      result: { text: 'a' },
    })
  }
})

test('survives many items and citations', () => {
  // Comparing each with every other would not end within the limit of this test.
  const annotations = Array.from({ length: 100_000 }, (_, number) => ({ url: `https://a.test/${number}` }))
  const items = Array.from({ length: 2_000 }, () => ({ type: 'web_search_call' }))
  const message = { type: 'message', content: [{ type: 'output_text', text: 'a', annotations }] }
  const decoded = decode({ object: 'response', status: 'completed', output: [message, ...items] })
  expect(decoded.result.citations).toHaveLength(100_000)
})
