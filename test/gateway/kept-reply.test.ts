import { expect, test } from 'vitest'
import { ModelgateError } from '../../src/errors.ts'
import { createContentDecoder } from '../../src/gateway/generate-content/decoder.ts'
import { createResponseDecoder } from '../../src/gateway/responses/decoder.ts'
import type { DecoderOptions, TextDecoder } from '../../src/gateway/stream-text.ts'

/** What is kept of a reply. Usual messages are not parsed, as in a stream. */
function kept(create: (options: DecoderOptions) => TextDecoder, messages: readonly object[], marked = false) {
  const decoder = create({ emit() {}, keepResponse: false, keepText: false, keepReply: true })
  for (const message of messages) {
    const json = JSON.stringify(message)
    const { pattern, textGroup, take } = decoder.fastPath!
    const usual = new RegExp(`^${pattern}$`).exec(json)
    if (usual === null) decoder.message(message)
    else take(usual[textGroup]!, usual)
  }
  try {
    decoder.finish(marked)
  } catch (error) {
    if (!(error instanceof ModelgateError)) throw error
  }
  return decoder.reply()
}

const chunk = (...parts: object[]) => ({
  candidates: [{ content: { role: 'model', parts } }],
  modelVersion: 'm',
})
const stop = { candidates: [{ finishReason: 'STOP' }] }

test('texts are joined; every other part stays as it was sent', () => {
  const call = { functionCall: { name: 'f', args: { a: 1 } }, thoughtSignature: 'c2lnbmF0dXJl' }
  const messages = [
    chunk({ text: 'Let me ', thought: true }),
    chunk({ text: 'think.', thought: true }),
    chunk({ text: 'One ' }),
    chunk({ text: 'two ' }),
    chunk({ text: 'three.' }),
    chunk(call),
    chunk({ text: 'Four' }),
    chunk({ text: ' five.' }),
    chunk({ text: '', thoughtSignature: 'bW9yZQ==' }),
    stop,
  ]
  expect(kept(createContentDecoder, messages)).toEqual({
    text: 'One two three.Four five.',
    content: {
      role: 'model',
      parts: [
        { text: 'Let me think.', thought: true },
        { text: 'One two three.' },
        call,
        { text: 'Four five.' },
        { text: '', thoughtSignature: 'bW9yZQ==' },
      ],
    },
  })
})

test('of several candidates the first is kept', () => {
  const both = {
    candidates: [
      { index: 1, content: { parts: [{ text: 'other' }] }, finishReason: 'STOP' },
      { index: 0, content: { parts: [{ text: 'first' }] }, finishReason: 'STOP' },
    ],
  }
  expect(kept(createContentDecoder, [both])).toEqual({
    text: 'first',
    content: { role: 'model', parts: [{ text: 'first' }] },
  })
})

test.each<[string, readonly object[], boolean, boolean]>([
  ['has an end', [chunk({ text: 'a' }), stop], false, false],
  ['ends with the mark of a stream', [chunk({ text: 'a' })], true, false],
  ['breaks off', [chunk({ text: 'a' })], false, true],
  ['is blocked', [{ promptFeedback: { blockReason: 'SAFETY' } }], false, true],
])('content that %s', (_, messages, marked, isPartial) => {
  expect(kept(createContentDecoder, messages, marked)?.is_partial).toBe(isPartial ? true : undefined)
})

test('a very long answer is kept up to a limit', () => {
  const long = 'x'.repeat(1024 * 1024)
  const texts = Array.from({ length: 10 }, () => chunk({ text: long }))
  const content = kept(createContentDecoder, [...texts, stop])
  expect([content?.text.length, content?.is_partial]).toEqual([2 * 1024 * 1024, true])
  const deltas = texts.map(() => ({ type: 'response.output_text.delta', output_index: 0, delta: long }))
  const whole = { id: 'resp_1', object: 'response', status: 'completed', output: [] }
  const response = kept(createResponseDecoder, [...deltas, { type: 'response.completed', response: whole }])
  expect([response?.text.length, response?.is_partial]).toEqual([2 * 1024 * 1024, true])
})

const message = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] }
const reasoning = { type: 'reasoning', id: 'rs_1', encrypted_content: 'c2VjcmV0' }

test('the items of a response are kept with what is encrypted in them', () => {
  const response = { id: 'resp_1', model: 'm', status: 'completed', output: [reasoning, message] }
  expect(kept(createResponseDecoder, [{ type: 'response.completed', response }])).toEqual({
    id: 'resp_1',
    model: 'm',
    text: 'Hi',
    output: [reasoning, message],
  })
})

test('items that only the stream has are kept in their order', () => {
  const messages = [
    { type: 'response.created', response: { id: 'resp_1', model: 'm' } },
    { type: 'response.output_text.delta', output_index: 1, delta: 'Hi' },
    { type: 'response.output_item.done', output_index: 1, item: message },
    { type: 'response.output_item.done', output_index: 0, item: reasoning },
    { type: 'response.completed', response: { id: 'resp_1', model: 'm', output: [] } },
  ]
  expect(kept(createResponseDecoder, messages)).toEqual({
    id: 'resp_1',
    model: 'm',
    text: 'Hi',
    output: [reasoning, message],
  })
})

test.each<[string, readonly object[]]>([
  ['broke off', [{ type: 'response.output_text.delta', output_index: 0, delta: 'Hi' }]],
  ['goes on at the gateway', [{ id: 'resp_1', object: 'response', status: 'queued', output: [] }]],
])('a response that %s is a part', (_, messages) => {
  expect(kept(createResponseDecoder, messages)?.is_partial).toBe(true)
})

test('nothing is kept unless it is wanted', () => {
  const decoder = createContentDecoder({ emit() {}, keepResponse: true, keepText: true })
  decoder.message(stop)
  expect(decoder.reply()).toBeUndefined()
})
