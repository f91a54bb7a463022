import { expect, test } from 'vitest'
import { ModelgateError } from '../../src/errors.ts'
import { createContentDecoder } from '../../src/gateway/generate-content/decoder.ts'
import { createResponseDecoder } from '../../src/gateway/responses/decoder.ts'
import type { DecoderOptions, TextDecoder } from '../../src/gateway/stream-text.ts'

type Create = (options: DecoderOptions) => TextDecoder

/** What is kept of a reply. Usual messages are not parsed, as in a stream. */
function kept(create: Create, messages: readonly object[], marked = false) {
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

const chunk = (...parts: object[]) => {
  return { candidates: [{ content: { role: 'model', parts } }], modelVersion: 'm' }
}
const stop = { candidates: [{ finishReason: 'STOP' }] }

test('texts are joined; every other part stays as it was sent', () => {
  const call = { functionCall: { name: 'f', args: { a: 1 } }, thoughtSignature: 'c2lnbmF0dXJl' }
  const thoughts = ['Let me ', 'think.'].map((text) => chunk({ text, thought: true }))
  const [one, two, four, five] = ['One ', 'two.', 'Four', ' five.'].map((text) => chunk({ text }))
  const signed = { text: '', thoughtSignature: 'bW9yZQ==' }
  const messages = [...thoughts, one!, two!, chunk(call), four!, five!, chunk(signed), stop]
  const parts = [
    { text: 'Let me think.', thought: true },
    { text: 'One two.' },
    call,
    { text: 'Four five.' },
    signed,
  ]
  expect(kept(createContentDecoder, messages)).toEqual({
    text: 'One two.Four five.',
    content: { role: 'model', parts },
  })
})

test('of several candidates the first is kept', () => {
  const candidates = ['first', 'other'].map((text, index) => {
    return { index, content: { parts: [{ text }] }, finishReason: 'STOP' }
  })
  expect(kept(createContentDecoder, [{ candidates: candidates.toReversed() }])).toEqual({
    text: 'first',
    content: { role: 'model', parts: [{ text: 'first' }] },
  })
})

const delta = (text: string, output_index = 0) => {
  return { type: 'response.output_text.delta', output_index, delta: text }
}
const message = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] }
const reasoning = { type: 'reasoning', id: 'rs_1', encrypted_content: 'c2VjcmV0' }
const whole = { id: 'resp_1', object: 'response', model: 'm', status: 'completed' }
const ended = (output: readonly object[]) => ({ type: 'response.completed', response: { ...whole, output } })

test.each<[string, Create, readonly object[], boolean, true | undefined]>([
  ['content that has an end', createContentDecoder, [chunk({ text: 'a' }), stop], false, undefined],
  ['content that ends with a mark', createContentDecoder, [chunk({ text: 'a' })], true, undefined],
  ['content that breaks off', createContentDecoder, [chunk({ text: 'a' })], false, true],
  ['blocked content', createContentDecoder, [{ promptFeedback: { blockReason: 'SAFETY' } }], false, true],
  ['a response that broke off', createResponseDecoder, [delta('Hi')], false, true],
  ['a response that goes on', createResponseDecoder, [{ ...whole, status: 'queued' }], false, true],
])('whether it is a part: %s', (_, create, messages, marked, isPartial) => {
  expect(kept(create, messages, marked)?.is_partial).toBe(isPartial)
})

test.each<[string, Create, (text: string) => object, object]>([
  ['content', createContentDecoder, (text) => chunk({ text }), stop],
  ['a response', createResponseDecoder, delta, ended([])],
])('a very long answer is kept up to a limit: %s', (_, create, messageOf, end) => {
  const messages = Array.from({ length: 10 }, () => messageOf('x'.repeat(1024 * 1024)))
  const reply = kept(create, [...messages, end])
  expect([reply?.text.length, reply?.is_partial]).toEqual([2 * 1024 * 1024, true])
})

test.each<[string, readonly object[]]>([
  ['whole', [ended([reasoning, message])]],
  [
    'only in the stream',
    [
      { type: 'response.created', response: { id: 'resp_1', model: 'm' } },
      delta('Hi', 1),
      { type: 'response.output_item.done', output_index: 1, item: message },
      { type: 'response.output_item.done', output_index: 0, item: reasoning },
      ended([]),
    ],
  ],
])('the items of a response are kept in their order, with what is encrypted in them: %s', (_, messages) => {
  expect(kept(createResponseDecoder, messages)).toEqual({
    id: 'resp_1',
    model: 'm',
    text: 'Hi',
    output: [reasoning, message],
  })
})

test('nothing is kept unless it is wanted', () => {
  const decoder = createContentDecoder({ emit() {}, keepResponse: true, keepText: true })
  decoder.message(stop)
  expect(decoder.reply()).toBeUndefined()
})
