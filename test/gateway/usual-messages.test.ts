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

/** A field, its value as JSON. */
type Field = readonly [name: string, json: string]

/** A text with an escape for each character, as some write it. */
const escaped = (text: string) =>
  `"${Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`
const textJson = fc
  .tuple(anyText({ maxLength: 12 }), fc.boolean())
  .map(([text, escapes]) => (escapes ? escaped(text) : JSON.stringify(text)))

/** Mostly the usual fields as they are; else one more, which may repeat a name, or one less, or one elsewhere. */
const fieldsLike = (usual: readonly Field[], others: readonly Field[]) =>
  fc
    .tuple(
      fc.constantFrom(0, 0, 1),
      fc.nat(1),
      fc.nat(usual.length - 1),
      fc.nat(),
      fc.constantFrom(...others),
    )
    .map(([added, removed, from, to, other]) => {
      const kept = usual.toSpliced(from, added * removed)
      return added === 0
        ? usual
        : kept.toSpliced(to % (kept.length + 1), 0, removed > 0 ? usual[from]! : other)
    })

const object = (fields: readonly Field[], [comma, colon]: readonly [string, string] = [',', ':']) =>
  `{${fields.map(([name, json]) => `"${name}"${colon}${json}`).join(comma)}}`
const spaces = fc.constantFrom([',', ':'], [',', ':'], [', ', ': ']) as fc.Arbitrary<[string, string]>

const usualDelta = fc.tuple(textJson, fc.constantFrom('0', '1', '1023')).chain(([text, index]) =>
  fc
    .tuple(
      fieldsLike(
        [
          ['type', '"response.output_text.delta"'],
          ['sequence_number', '7'],
          ['item_id', '"m"'],
          ['output_index', index],
          ['content_index', '0'],
          ['delta', text],
          ['logprobs', '[]'],
        ],
        [
          ['output_index', '1024'],
          ['output_index', '"1"'],
          ['type', '"response.reasoning_text.delta"'],
          ['type', '"error"'],
          ['delta', '"other"'],
          ['delta', 'null'],
          ['d\\u0065lta', '"other"'],
          ['item_id', '"a\\"b"'],
          ['logprobs', '[{"token":"a","logprob":-0.5,"bytes":[97]}]'],
          ['obfuscation', '"x"'],
          ['error', '{"message":"It broke."}'],
          ['error', 'null'],
          ['object', '"response"'],
          ['__proto__', '1'],
        ],
      ),
      spaces,
    )
    .map(([fields, space]) => object(fields, space)),
)

const usualChunk = fc
  .tuple(
    textJson.chain((text) =>
      fieldsLike(
        [['text', text]],
        [
          ['thought', 'true'],
          ['thoughtSignature', '"c2ln"'],
          ['text', '"other"'],
        ],
      ),
    ),
    fc.constantFrom('0', '1'),
    fc.nat(9),
    fc.constantFrom('"a"', '"b"'),
    spaces,
  )
  .chain(([part, index, total, id, space]) => {
    const content = `{"parts":[${object(part)}],"role":"model"}`
    return fieldsLike(
      [
        ['content', content],
        ['index', index],
      ],
      [
        ['finishReason', '"STOP"'],
        ['finishReason', '"FINISH_REASON_UNSPECIFIED"'],
        ['safetyRatings', '[{"category":"C","probability":"HIGH"}]'],
        ['citationMetadata', '{"citations":[{"uri":"https://a.example"}]}'],
        ['content', '{"parts":[]}'],
      ],
    ).chain((candidate) =>
      fieldsLike(
        [
          ['candidates', `[${object(candidate)}]`],
          ['usageMetadata', `{"promptTokenCount":1,"totalTokenCount":${total}}`],
          ['modelVersion', '"m"'],
          ['responseId', id],
        ],
        [
          ['modelVersion', '"other"'],
          ['usageMetadata', '{}'],
          ['createTime', '"2026-11-22T00:00:00Z"'],
          ['promptFeedback', '{"blockReason":"SAFETY"}'],
          ['error', '{"message":"It broke."}'],
          ['error', 'null'],
          ['type', '"error"'],
        ],
      ).map((fields) => object(fields, space)),
    )
  })

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
