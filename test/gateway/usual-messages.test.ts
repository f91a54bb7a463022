import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { TextEvent } from '../../src/events/text.ts'
import { ModelgateError } from '../../src/errors.ts'
import { createContentDecoder } from '../../src/gateway/generate-content/decoder.ts'
import { createResponseDecoder } from '../../src/gateway/responses/decoder.ts'
import type { Gateway } from '../../src/gateway/gateway.ts'
import { readTextReply, type DecoderOptions, type TextDecoder } from '../../src/gateway/stream-text.ts'
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
    const { marked } = await readTextReply(gateway, reply, counted, receiver)
    end = decoder.verdict(marked)
  } catch (error) {
    end = error
  }
  if (end instanceof ModelgateError) end = `${end.code}: ${end.message}`
  return { parsed, events, end, result: decoder.result(), reply: decoder.reply() }
}

/** A field, with the values as JSON that the messages of one form have in turn. */
interface Field {
  readonly name: string
  readonly values: readonly string[]
}

const field = (name: string, values: fc.Arbitrary<string>): fc.Arbitrary<Field> =>
  fc.array(values, { minLength: 1, maxLength: 3 }).map((all) => ({ name, values: all }))
const constant = (name: string, ...values: string[]) => field(name, fc.constantFrom(...values))

/** A text with an escape for each character, as some write it. */
const escaped = (text: string) =>
  `"${Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`
const textJson = fc
  .tuple(anyText({ maxLength: 12 }), fc.boolean())
  .map(([text, escapes]) => (escapes ? escaped(text) : JSON.stringify(text)))

/** Objects of one form: the fields in one order, the values in turn. */
function objects(fields: readonly Field[], spaces: readonly [string, string]): (turn: number) => string {
  const [comma, colon] = spaces
  return (turn) =>
    `{${fields.map(({ name, values }) => `"${name}"${colon}${values[turn % values.length]}`).join(comma)}}`
}

const spaces = fc.constantFrom([',', ':'], [', ', ': '], [',', ': ']) as fc.Arbitrary<[string, string]>

/** Fields in any order, of which some are there. */
const someOf = (needed: readonly fc.Arbitrary<Field>[], others: readonly fc.Arbitrary<Field>[]) =>
  fc
    .tuple(
      fc.tuple(...needed),
      fc.shuffledSubarray([...others]).chain((chosen) => fc.tuple(...chosen)),
    )
    .chain(([first, rest]) =>
      fc.shuffledSubarray([...first, ...rest], { minLength: first.length + rest.length }),
    )

const plain = fc.constantFrom(
  '0',
  '1',
  '-1.5e3',
  'null',
  'true',
  '[]',
  '{}',
  '"x"',
  '"a\\"b"',
  '[{"a":1}]',
  '""',
)

const delta = fc
  .tuple(
    someOf(
      [constant('type', '"response.output_text.delta"'), field('delta', textJson)],
      [
        constant('output_index', '0', '1', '"1"', 'null', '1024'),
        constant('type', '"response.reasoning_text.delta"', '"response.refusal.delta"', '"error"'),
        field('delta', fc.oneof(textJson, plain)),
        constant('sequence_number', '1', '20', '300'),
        field('item_id', plain),
        field('logprobs', fc.constantFrom('[]', '[{"token":"a","logprob":-0.5,"bytes":[97]}]')),
        field('obfuscation', textJson),
        constant('error', 'null', '""', '{"message":"It broke."}'),
        constant('object', '"response"'),
        constant('__proto__', '1'),
        constant('a.b', '1'),
        constant('d\\u0065lta', '"other"'),
      ],
    ),
    spaces,
  )
  .map(([fields, space]) => objects(fields, space))

const part = fc
  .tuple(
    someOf(
      [field('text', textJson)],
      [constant('thought', 'true', 'false'), constant('thoughtSignature', '"c2ln"'), field('other', plain)],
    ),
    spaces,
  )
  .map(([fields, space]) => objects(fields, space))

const chunk = fc
  .tuple(
    part,
    spaces,
    someOf(
      [],
      [
        constant('index', '0', '1'),
        constant('finishReason', '"STOP"', '"FINISH_REASON_UNSPECIFIED"', 'null'),
        constant('finishMessage', '"Enough."'),
        constant('safetyRatings', '[]', '[{"category":"C","probability":"HIGH"}]'),
        constant('avgLogprobs', '-0.1', '-2e-5'),
        constant('citationMetadata', '{"citations":[{"uri":"https://a.example"}]}'),
      ],
    ),
    fc.constantFrom([], ['"role":"model"'], ['"role":"user"']),
    someOf(
      [],
      [
        constant(
          'usageMetadata',
          '{"promptTokenCount":1,"totalTokenCount":2}',
          '{"totalTokenCount":9}',
          '{}',
        ),
        constant('modelVersion', '"model-1"', '"model-2"'),
        constant('responseId', '"a"', '"b"', 'null'),
        constant('promptFeedback', '{"blockReason":"SAFETY"}'),
        constant('createTime', '"2026-11-22T00:00:00Z"'),
        constant('error', 'null', '{"message":"It broke."}'),
        constant('type', '"error"'),
      ],
    ),
    fc.nat(5),
  )
  .map(([partOf, space, candidate, role, rest, at]) => {
    return (turn: number) => {
      const content = { name: 'content', values: [`{${[...role, `"parts":[${partOf(turn)}]`].join(',')}}`] }
      const place = at % (candidate.length + 1)
      const inner = objects([...candidate.slice(0, place), content, ...candidate.slice(place)], space)(turn)
      const candidates = { name: 'candidates', values: [`[${inner}]`] }
      const outerPlace = at % (rest.length + 1)
      return objects([...rest.slice(0, outerPlace), candidates, ...rest.slice(outerPlace)], space)(turn)
    }
  })

const framing = fc.constantFrom(
  (json: string) => `data: ${json}\n\n`,
  (json: string) => `data:${json}\r\n\r\n`,
  (json: string) => `event: some.name\ndata: ${json}\n\n`,
  (json: string) => `event: error\ndata: ${json}\n\n`,
  (json: string) => `data: ${json}\n\n: a comment\n\n`,
)

const texts = fc.array(textJson, { minLength: 1, maxLength: 3 })
const usualDelta = fc
  .tuple(texts, fc.constantFrom(0, 1, 1023), fc.boolean())
  .map(([deltas, index, isNumbered]) => (turn: number) => {
    const number = isNumbered ? `"sequence_number":${turn},` : ''
    const place = `"item_id":"m","output_index":${turn % 2 === 0 ? index : 0},"content_index":0`
    return `{"type":"response.output_text.delta",${number}${place},"delta":${deltas[turn % deltas.length]},"logprobs":[]}`
  })
const usualChunk = fc
  .tuple(texts, fc.boolean(), fc.boolean())
  .map(([all, hasUsage, hasId]) => (turn: number) => {
    const usage = hasUsage ? `,"usageMetadata":{"promptTokenCount":1,"totalTokenCount":${turn}}` : ''
    const id = hasId && turn % 3 > 0 ? `,"responseId":"${turn}"` : ''
    const content = `{"parts":[{"text":${all[turn % all.length]}}],"role":"model"}`
    return `{"candidates":[{"content":${content},"index":0}]${usage},"modelVersion":"m"${id}}`
  })

/** Runs of messages, each of one form, cut anywhere. */
const streamOf = (form: fc.Arbitrary<(turn: number) => string>) =>
  fc
    .tuple(
      fc.array(fc.tuple(form, framing, fc.integer({ min: 1, max: 30 })), { minLength: 1, maxLength: 5 }),
      fc.array(fc.nat(10_000), { maxLength: 6 }),
    )
    .map(([runs, places]) => {
      const text = runs.map(([make, frame, count]) =>
        Array.from({ length: count }, (_, turn) => frame(make(turn))).join(''),
      )
      const bytes = Buffer.from(text.join(''))
      const cuts = places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b)
      return [0, ...cuts].map((from, index) => bytes.subarray(from, cuts[index] ?? bytes.length))
    })

test.each([
  ['content generation', createContentDecoder, fc.oneof(chunk, usualChunk)],
  ['a response', createResponseDecoder, fc.oneof(delta, usualDelta)],
] as const)(
  'an answer of %s is the same whether its usual messages are parsed or not',
  async (_, create, form) => {
    const gateway = testGateway('http://gateway.example')
    await fc.assert(
      fc.asyncProperty(streamOf(form), async (pieces) => {
        const { parsed: some, ...skimmed } = await outcomeOf(gateway, create, pieces, false)
        const { parsed: all, ...whole } = await outcomeOf(gateway, create, pieces, true)
        expect(skimmed).toEqual(whole)
        expect(some).toBeLessThanOrEqual(all)
      }),
      runs(500),
    )
  },
)
