import { expect, test } from 'vitest'
import { createContentDecoder } from '../../../src/gateway/generate-content/decoder.ts'
import { decode as decodeWith } from '../decode.ts'
import { badIndexes, prototypes } from '../hostile-values.ts'

const decode = (...messages: readonly unknown[]) => decodeWith(createContentDecoder, messages)

test.for(badIndexes)('refuses a candidate with index %j', (index) => {
  const decoded = decode({ candidates: [{ index, content: { parts: [{ text: 'a' }] } }] })
  expect(decoded.verdict).toBe('contract: bad_index')
})

test('fields named after the prototype are fields like others', () => {
  const before = prototypes()
  const chunk = JSON.parse(
    '{"__proto__":{"polluted":1},"candidates":[{"__proto__":{"polluted":1},"content":{"__proto__":{"polluted":1},' +
      '"parts":[{"__proto__":{"text":"x"},"text":"a"},{"functionCall":{"name":"__proto__","args":{"__proto__":{"polluted":1}}}}]},' +
      '"finishReason":"STOP"}],"usageMetadata":{"__proto__":{"promptTokenCount":1}},"constructor":{"prototype":{"polluted":1}}}',
  ) as unknown
  const decoded = decode(chunk, chunk)
  expect(decoded.verdict).toBe('ok')
  expect(decoded.result.text).toBe('aa')
  expect(decoded.result.usage?.input_tokens).toBeNull()
  expect(JSON.stringify(decoded.result.response)).toContain('"__proto__":{"polluted":1}')
  expect('polluted' in {}).toBe(false)
  expect(prototypes()).toEqual(before)
})

const deep = (levels: number, open: string, inner: string, close: string) =>
  JSON.parse(open.repeat(levels) + inner + close.repeat(levels)) as unknown

test.for([
  ['arrays', deep(100_000, '[', '', ']')],
  ['a chunk', deep(100_000, '{"candidates":', 'null', '}')],
  [
    'arguments',
    {
      candidates: [
        { content: { parts: [{ functionCall: { name: 'f', args: deep(100_000, '[', '', ']') } }] } },
      ],
    },
  ],
  [
    'pieces of arguments',
    {
      candidates: [
        { content: { parts: [{ functionCall: { name: 'f', partialArgs: deep(100_000, '[', '', ']') } }] } },
      ],
    },
  ],
] as const)('survives deep nesting: %s', ([, message]) => {
  expect(decode(message).verdict).not.toBe('ok')
})

test('survives many citations', () => {
  // Comparing each with every other would not end within the limit of this test.
  const citationSources = Array.from({ length: 100_000 }, (_, number) => ({
    uri: `https://a.test/${number}`,
  }))
  const decoded = decode({ candidates: [{ citationMetadata: { citationSources } }] })
  expect(decoded.result.citations).toHaveLength(100_000)
})
