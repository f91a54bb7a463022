import { expect, test } from 'vitest'
import { createContentDecoder } from '../../../src/gateway/generate-content/decoder.ts'
import { decode as decodeWith } from '../decode.ts'
import { badIndexes } from '../hostile-values.ts'

const decode = (...messages: readonly unknown[]) => decodeWith(createContentDecoder, messages)

test.for(badIndexes)('refuses a candidate with index %j', (index) => {
  const decoded = decode({ candidates: [{ index, content: { parts: [{ text: 'a' }] } }] })
  expect(decoded.verdict).toBe('contract: reply_not_understood')
})

test('survives many citations', () => {
  // Comparing each with every other would not end within the limit of this test.
  const citationSources = Array.from({ length: 100_000 }, (_, number) => ({
    uri: `https://a.test/${number}`,
  }))
  const decoded = decode({ candidates: [{ citationMetadata: { citationSources } }] })
  expect(decoded.result.citations).toHaveLength(100_000)
})
