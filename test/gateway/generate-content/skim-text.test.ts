import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createEventFastPath } from '../../../src/gateway/events/event-reader.ts'
import { createTextFastPath, readFacts } from '../../../src/gateway/generate-content/chunks.ts'
import { anyText } from '../../support/any-text.ts'

/** What a chunk says when it is read by its text; undefined when it has to be parsed. */
function skimTextChunk(json: string) {
  let found: { text: string; facts: Record<string, unknown> } | undefined
  const fastPath = createTextFastPath((text, facts) => void (found = { text, facts: readFacts(facts) }))
  createEventFastPath(fastPath)(`data: ${json}\n\n`, 0)
  return found
}

const usage = fc.dictionary(
  fc.constantFrom('promptTokenCount', 'totalTokenCount', 'serviceTier', 'promptTokensDetails'),
  fc.oneof(
    fc.nat(1e10),
    fc.constant('standard'),
    fc.constant(null),
    fc.double(),
    fc.constant([]),
    fc.constant([{ modality: 'TEXT', tokenCount: 3 }]),
    fc.constant([{ modality: 'TEXT', nested: { deep: 1 } }]),
  ),
)
const chunk = fc.record(
  {
    candidates: fc.tuple(
      fc.record(
        {
          content: fc.record(
            {
              parts: fc.tuple(fc.record({ text: anyText() })),
              role: fc.constant('model'),
            },
            { requiredKeys: ['parts'] },
          ),
          index: fc.constantFrom(0, 1),
          finishReason: fc.constant('STOP'),
        },
        { requiredKeys: ['content'] },
      ),
    ),
    usageMetadata: usage,
    modelVersion: fc.constantFrom('model-1', 'a "model"'),
    responseId: fc.string(),
    error: fc.constant({ message: 'no' }),
  },
  { requiredKeys: ['candidates'] },
)
const spaced = (json: string) => json.replaceAll('":', '": ')

test('what is skimmed is what parsing would have found', () => {
  fc.assert(
    fc.property(chunk, fc.boolean(), (value, isSpaced) => {
      const json = isSpaced ? spaced(JSON.stringify(value)) : JSON.stringify(value)
      const found = skimTextChunk(json)
      if (found === undefined) return
      const parsed = JSON.parse(json) as typeof value
      expect(parsed.error).toBeUndefined()
      expect(parsed.candidates[0].finishReason).toBeUndefined()
      expect(parsed.candidates[0].index ?? 0).toBe(0)
      expect(found.text).toBe(parsed.candidates[0].content.parts[0].text)
      const { usageMetadata, modelVersion, responseId } = parsed
      expect(found.facts).toEqual(
        usageMetadata === undefined ? {} : { usageMetadata, modelVersion, responseId },
      )
      expect([usageMetadata, modelVersion, responseId].includes(undefined)).toBe(usageMetadata === undefined)
    }),
    { numRuns: 5_000 },
  )
})

test('the usual chunks are skimmed', () => {
  expect(
    skimTextChunk(
      '{"candidates": [{"content": {"parts": [{"text": "1\\n2"}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 18,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 18}],"serviceTier": "standard"},"modelVersion": "m-2.5","responseId": "ru_1"}',
    ),
  ).toEqual({
    text: '1\n2',
    facts: {
      usageMetadata: {
        promptTokenCount: 18,
        promptTokensDetails: [{ modality: 'TEXT', tokenCount: 18 }],
        serviceTier: 'standard',
      },
      modelVersion: 'm-2.5',
      responseId: 'ru_1',
    },
  })
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

test('whatever is not whole JSON of that form is left to the parser', () => {
  const usual =
    '{"candidates":[{"content":{"parts":[{"text":"Hi \\"you\\""}],"role":"model"}}],"usageMetadata":{"totalTokenCount":3},"modelVersion":"m","responseId":"r"}'
  expect(skimTextChunk(usual)?.text).toBe('Hi "you"')
  fc.assert(
    fc.property(fc.nat(usual.length), fc.string({ minLength: 1, maxLength: 3 }), (at, piece) => {
      const broken = usual.slice(0, at) + piece + usual.slice(at)
      expect(skimTextChunk(broken) === undefined || isJson(broken)).toBe(true)
    }),
    { numRuns: 5_000 },
  )
})
