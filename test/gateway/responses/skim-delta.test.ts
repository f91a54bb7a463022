import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createEventFastPath } from '../../../src/gateway/events/event-reader.ts'
import { createResponseDecoder } from '../../../src/gateway/responses/decoder.ts'
import type { TextEvent } from '../../../src/events/text.ts'
import { ModelgateError } from '../../../src/errors.ts'

/** Gives one message to a decoder by its text, or else parsed; then ends the response. */
function outcome(text: string, mayskim: boolean): unknown {
  const events: TextEvent[] = []
  const decoder = createResponseDecoder({
    emit: (event) => events.push(event),
    keepResponse: true,
    keepText: true,
  })
  try {
    const skimmed = mayskim && createEventFastPath(decoder.fastPath!)(`data: ${text}\n\n`, 0) > 0
    if (!skimmed) decoder.message(JSON.parse(text))
    for (const index of [0, 1, 2]) {
      const item = { type: 'message', content: [{ type: 'output_text', text: `item ${index}` }] }
      decoder.message({ type: 'response.output_item.done', output_index: index, item })
    }
    decoder.message({ type: 'response.completed', response: {} })
    return { events, verdict: decoder.verdict(false), result: decoder.result() }
  } catch (error) {
    if (error instanceof ModelgateError || error instanceof SyntaxError) return error.message
    throw error
  }
}

const start = '{"type":"response.output_text.delta"'

test.for([
  `${start},"delta":"a","output_index":1}`,
  `${start},"output_index":2,"delta":"","content_index":0}`,
  `${start},"item_id":"x","output_index":0,"content_index":0,"delta":"a b","logprobs":[],"obfuscation":"zz"}`,
  `${start},"delta":"a"}`,
  `${start}}`,
  `${start},"delta":null}`,
  `${start},"delta":[]}`,
  `${start},"delta":5}`,
  `${start},"delta":"a","output_index":null}`,
  `${start},"delta":"a","output_index":"1"}`,
  `${start},"delta":"a","output_index":[]}`,
  `${start},"delta":"a","output_index":1024}`,
  `${start},"delta":"a","output_index":999999999}`,
  `${start},"delta":"a","output_index":01}`,
  `${start},"delta":"a","sequence_number":007}`,
  `${start},"delta":"a","delta":"b"}`,
  `${start},"output_index":1,"delta":"a","output_index":2}`,
  `${start},"delta":"a","type":"error"}`,
  `${start},"delta":"a","error":"It broke."}`,
  `${start},"delta":"a","error":null}`,
  `${start},"x_delta":"a","delta":"b","x_output_index":2}`,
  `${start},"delta":"\\"a"}`,
  `${start},"delta":"a\u2028b😀"}`,
  `${start},"delta":"a",}`,
  `${start},"delta":"a"} `,
  `${start} ,"delta":"a"}`,
])('a delta means the same read by its text and parsed: %s', (text) => {
  expect(outcome(text, true)).toEqual(outcome(text, false))
})

test('so does anything that looks like one', () => {
  const name = fc.constantFrom(
    'delta',
    'output_index',
    'item_id',
    'error',
    'type',
    'logprobs',
    'x_delta',
    '__proto__',
  )
  const value = fc.oneof(
    fc.string({ maxLength: 5, unit: 'grapheme' }).map((text) => JSON.stringify(text)),
    fc.constantFrom(
      '0',
      '1',
      '2',
      '1024',
      '01',
      '-1',
      '1.5',
      '1e1',
      'null',
      '[]',
      '[1]',
      '{}',
      '"1"',
      '"',
      '""',
      '"\\u0041"',
    ),
  )
  const fields = fc.array(
    fc.tuple(name, value).map(([key, json]) => `,"${key}":${json}`),
    { maxLength: 5 },
  )
  fc.assert(
    fc.property(fields, (list) => {
      const text = `${start}${list.join('')}}`
      expect(outcome(text, true)).toEqual(outcome(text, false))
    }),
    { numRuns: 5_000 },
  )
})
