import { expect, test } from 'vitest'
import { createResponseDecoder } from '../../../src/gateway/responses/decoder.ts'
import { decode as decodeWith } from '../decode.ts'
import { badIndexes, prototypes } from '../hostile-values.ts'

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
    expect(decoded.verdict).toBe('contract: bad_index')
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

test('fields named after the prototype are fields like others', () => {
  const before = prototypes()
  const polluted =
    '"__proto__":{"polluted":1,"text":"x","type":"error"},"constructor":{"prototype":{"polluted":1}}'
  const messages = [
    `{${polluted},"type":"response.output_text.delta","delta":"a"}`,
    `{"type":"response.output_item.done","output_index":1,"item":{${polluted},"type":"function_call","name":"__proto__","arguments":"{\\"__proto__\\":{\\"polluted\\":1}}"}}`,
    `{"type":"response.completed","response":{${polluted},"status":"completed","usage":{"__proto__":{"input_tokens":1}}}}`,
  ].map((text) => JSON.parse(text) as unknown)
  const decoded = decode(...messages)
  expect(decoded).toMatchObject({ verdict: 'ok', result: { text: 'a' } })
  expect(decoded.result.usage?.input_tokens).toBeNull()
  expect('polluted' in {}).toBe(false)
  expect(prototypes()).toEqual(before)
})

const deep = (levels: number, open: string, inner: string, close: string) =>
  JSON.parse(open.repeat(levels) + inner + close.repeat(levels)) as unknown

test.for([
  ['arrays', deep(100_000, '[', '', ']')],
  ['an item', { type: 'response.output_item.done', item: deep(100_000, '{"type":', '1', '}') }],
  [
    'arguments',
    { output: [{ type: 'function_call', arguments: `${'['.repeat(100_000)}${']'.repeat(100_000)}` }] },
  ],
  ['an error', { error: deep(100_000, '{"error":', '1', '}') }],
] as const)('survives deep nesting: %s', ([, message]) => {
  expect(decode(message).result.text).toBe('')
})

test('survives many items and citations', () => {
  // Comparing each with every other would not end within the limit of this test.
  const annotations = Array.from({ length: 100_000 }, (_, number) => ({ url: `https://a.test/${number}` }))
  const items = Array.from({ length: 2_000 }, () => ({ type: 'web_search_call' }))
  const message = { type: 'message', content: [{ type: 'output_text', text: 'a', annotations }] }
  const decoded = decode({ object: 'response', status: 'completed', output: [message, ...items] })
  expect(decoded.result.citations).toHaveLength(100_000)
})
