import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { TextEvent } from '../../src/events/text.ts'
import { ModelgateError } from '../../src/errors.ts'
import { createContentDecoder } from '../../src/gateway/generate-content/decoder.ts'
import { createResponseDecoder } from '../../src/gateway/responses/decoder.ts'
import type { Gateway } from '../../src/gateway/gateway.ts'
import { readTextReply, type DecoderOptions, type TextDecoder } from '../../src/gateway/stream-text.ts'
import { cutAt, places } from '../fuzz/arbitraries.ts'
import { anyText } from '../support/any-text.ts'
import { testGateway } from './test-gateway.ts'
import { runs } from '../support/sample.ts'

/*
 * Messages with the usual fields in the usual order are not parsed. Whatever they are, whatever the order of their fields, and however the bytes
 * are cut: the answer must be the same as if they had been.
 */

type Create = (options: DecoderOptions) => TextDecoder

/** What comes of a stream. @param parses whether every message is parsed, as it is where their JSON is shown */
async function outcomeOf(gateway: Gateway, create: Create, pieces: readonly Uint8Array[], parses: boolean) {
  const events: TextEvent[] = []
  const decoder = create({
    emit(event) {
      // Texts that came together may be told as one.
      const before = events.at(-1)
      const isText = event.type === 'text-delta' || event.type === 'reasoning-delta'
      if (
        isText &&
        before !== undefined &&
        isDeepStrictEqual({ ...before, text: '' }, { ...event, text: '' })
      ) {
        events[events.length - 1] = { ...event, text: (before as typeof event).text + event.text }
      } else events.push(event)
    },
    keepResponse: false,
    keepText: true,
    keepReply: true,
  })
  let parsed = 0
  const counted: TextDecoder = {
    ...decoder,
    get state() {
      return decoder.state
    },
    message(value) {
      parsed++
      decoder.message(value)
    },
  }
  const body = (async function* () {
    yield* pieces
  })()
  const receiver = { flush: async () => {}, ...(parses ? { raw() {} } : {}) }
  let end: unknown
  try {
    const reply = { status: 200, headers: {}, body, requestId: null, close() {} }
    decoder.finish(await readTextReply(gateway, reply, counted, receiver))
  } catch (error) {
    end = error
  }
  if (end instanceof ModelgateError) end = `${end.code}: ${end.message}`
  return { parsed, events, end, result: decoder.result(), reply: decoder.reply() }
}

/** A text with an escape for each character, as some write it. */
const escaped = (text: string) => {
  const codes = Array.from({ length: text.length }, (_, at) =>
    text.charCodeAt(at).toString(16).padStart(4, '0'),
  )
  return `"${codes.map((code) => `\\u${code}`).join('')}"`
}
const textJson = fc
  .tuple(anyText({ maxLength: 12 }), fc.boolean())
  .map(([text, escapes]) => (escapes ? escaped(text) : JSON.stringify(text)))

/**
 * Mostly the usual message; else with one field more, which may repeat a name, or with the part between two names gone or
 * elsewhere, whatever that makes of it.
 */
const messageLike = (usual: fc.Arbitrary<string>, others: readonly (readonly string[])[]) =>
  fc
    .tuple(
      usual,
      fc.constantFrom('', '', 'add', 'remove', 'move'),
      fc.nat(),
      fc.nat(),
      fc.constantFrom(...others.flat()),
    )
    .map(([json, change, from, to, other]) => {
      const parts = json.split(/(?<=[{,] ?)(?="\w+": ?)/)
      if (change === '') return json
      const at = 1 + (from % (parts.length - 1))
      if (change === 'add') return parts.toSpliced(at, 0, `${other},`).join('')
      const [removed] = parts.splice(at, 1)
      return (change === 'move' ? parts.toSpliced(to % parts.length, 0, removed!) : parts).join('')
    })

const space = fc.constantFrom('', '', ' ')

const usualDelta = messageLike(
  fc
    .tuple(textJson, fc.constantFrom('0', '1', '1023'), space)
    .map(([text, index, blank]) =>
      [
        `{"type":${blank}"response.output_text.delta"`,
        `"sequence_number":${blank}7`,
        `"item_id":${blank}"m"`,
        `"output_index":${blank}${index}`,
        `"content_index":${blank}0`,
        `"delta":${blank}${text}`,
        `"logprobs":${blank}[]}`,
      ].join(`,${blank}`),
    ),
  [
    ['"output_index":1024', '"output_index":"1"', '"type":"response.reasoning_text.delta"', '"type":"error"'],
    ['"delta":"other"', '"delta":null', '"d\\u0065lta":"other"', '"item_id":"a\\"b"', '"obfuscation":"x"'],
    ['"logprobs":[{"token":"a","logprob":-0.5,"bytes":[97]}]', '"object":"response"', '"__proto__":1'],
    ['"error":{"message":"It broke."}', '"error":null'],
  ],
)

const usualChunk = messageLike(
  fc
    .tuple(textJson, fc.constantFrom('0', '1'), fc.nat(9), fc.constantFrom('"a"', '"b"'), space)
    .map(([text, index, total, id, blank]) =>
      [
        `{"candidates":${blank}[{"content":${blank}{"parts":${blank}[{"text":${blank}${text}}]`,
        `"role":${blank}"model"}`,
        `"index":${blank}${index}}]`,
        `"usageMetadata":${blank}{"promptTokenCount":${blank}1`,
        `"totalTokenCount":${blank}${total}}`,
        `"modelVersion":${blank}"m"`,
        `"responseId":${blank}${id}}`,
      ].join(`,${blank}`),
    ),
  [
    ['"thought":true', '"thoughtSignature":"c2ln"', '"text":"other"', '"content":{"parts":[]}'],
    ['"finishReason":"STOP"', '"finishReason":"FINISH_REASON_UNSPECIFIED"', '"type":"error"', '"error":null'],
    ['"safetyRatings":[{"category":"C","probability":"HIGH"}]', '"error":{"message":"It broke."}'],
    ['"citationMetadata":{"citations":[{"uri":"https://a.example"}]}', '"usageMetadata":{}'],
    ['"promptFeedback":{"blockReason":"SAFETY"}', '"createTime":"2026-11-22"', '"modelVersion":"other"'],
  ],
)

const framing = fc.constantFrom(
  (json: string) => `data: ${json}\n\n`,
  (json: string) => `data:${json}\r\n\r\n`,
  (json: string) => `event: some.name\ndata: ${json}\n\n`,
  (json: string) => `event: error\ndata: ${json}\n\n`,
  (json: string) => `data: ${json}\n\n: a comment\n\n`,
)

/** Messages, most of them framed alike, cut anywhere. */
const streamOf = (message: fc.Arbitrary<string>) =>
  fc
    .tuple(
      fc.array(fc.tuple(framing, fc.array(message, { minLength: 1, maxLength: 12 })), {
        minLength: 1,
        maxLength: 4,
      }),
      places,
    )
    .map(([runs, cuts]) =>
      cutAt(Buffer.from(runs.flatMap(([frame, messages]) => messages.map(frame)).join('')), cuts),
    )

test.each([
  ['content generation', createContentDecoder, usualChunk],
  ['a response', createResponseDecoder, usualDelta],
] as const)(
  'an answer of %s is the same whether its usual messages are parsed or not',
  async (_, create, message) => {
    const gateway = testGateway('http://gateway.example')
    await fc.assert(
      fc.asyncProperty(streamOf(message), async (pieces) => {
        const { parsed: some, ...skimmed } = await outcomeOf(gateway, create, pieces, false)
        const { parsed: all, ...whole } = await outcomeOf(gateway, create, pieces, true)
        expect(skimmed).toEqual(whole)
        expect(some).toBeLessThanOrEqual(all)
      }),
      runs(500),
    )
  },
)
