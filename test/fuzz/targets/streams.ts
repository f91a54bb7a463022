import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import * as source from '../../../src/gateway/message-reader.ts'
import { createContentDecoder } from '../../../src/gateway/generate-content/decoder.ts'
import { createResponseDecoder } from '../../../src/gateway/responses/decoder.ts'
import { decode } from '../../gateway/decode.ts'
import { corpora } from '../../gateway/events/corpora.ts'
import { outcomeOf } from '../../gateway/events/outcome.ts'
import { hostileValue } from '../../gateway/hostile-values.ts'
import { anyText } from '../../support/any-text.ts'
import { cutAt, places, textOf } from '../arbitraries.ts'
import { target } from '../target.ts'

/** Pieces that framings are made of, so that random replies get past the first character. */
const framing = [
  ['data: ', 'data:', 'event: ', ': ', '\n', '\r', '\r\n', '\n\n', '[DONE]', '\uFEFF', '<title>'],
  ['{', '}', '[', ']', '"', '\\', ',', '{"a":1}', '[{},', 'null', '{"error":', '\u2028', '😀'],
].flat()
const reply = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  textOf(framing, fc.json(), anyText()).map((text) => Buffer.from(text)),
)

const eventStream = target({
  name: 'event-stream',
  promises: 'any bytes are read alike however they are cut, and fail only with errors of the program',
  cost: 'cheap',
  input: fc.tuple(reply, places),
  check([bytes, cuts]) {
    assert.deepEqual(outcomeOf(cutAt(bytes, cuts)), outcomeOf([bytes]))
  },
})

/** Every framing and quirk, with LF, CRLF or CR. */
const cutCorpus = target({
  name: 'cut-corpus',
  promises:
    'a known reply is read to what it means, cut at any places (fault E1), whatever its line endings (E2)',
  cost: 'cheap',
  input: fc.tuple(fc.nat(corpora.length - 1), fc.constantFrom('\n', '\r\n', '\r'), places),
  check([which, ending, cuts]) {
    const { bytes, messages, done, error } = corpora[which]!
    const wire = bytes.toString('latin1')
    const sent = wire.includes('\r') ? wire : wire.replaceAll('\n', ending)
    const outcome = outcomeOf(cutAt(Buffer.from(sent, 'latin1'), cuts))
    assert.equal(JSON.stringify(outcome), JSON.stringify({ messages, done, error }))
  },
})

/** Takes messages with an `n`, and nothing else. */
function fastPathTo(take: (value: unknown) => void): source.FastPath {
  return {
    pattern: String.raw`\{"n":"(${source.characters})"\}`,
    textGroup: 1,
    joins: () => false,
    take: (text) => take({ n: source.unescapeJson(text) }),
  }
}

/** What comes of a stream in pieces: the values in order, however they were read, and the failure at the end. */
function readStream(pieces: readonly Uint8Array[], skims: boolean): { values: unknown[]; end: unknown } {
  const values: unknown[] = []
  const onMessage = (value: unknown) => void values.push(value)
  const fastPath = skims ? fastPathTo(onMessage) : undefined
  const reader = source.createMessageReader({ fastPath, onMessage })
  try {
    for (const piece of pieces) reader.push(piece)
    reader.end()
    return { values, end: reader.done }
  } catch (error) {
    return { values, end: (error as Error).message }
  }
}

const event = fc.constantFrom(
  'data: {"n":"1"}',
  'data:{"n":"2"}',
  'event: some.name\ndata: {"n":"3"}',
  'event: some.name\r\ndata: {"n":"4"}',
  'id: 7\ndata: {"n":"5"}',
  'data: {"n":"6","more":[1]}',
  'event: error\ndata: {"n":"0"}',
  'data: {"n":"a\\nb"}',
  'data: {"n":\ndata: 7}',
  // A message that a relay cut over two events (quirk 5).
  'data: {"half":\n\ndata: {"n":8}}',
  'data: {"half":"\n\ndata: {\\"n\\":9}"}',
  // JSON without `data:` in the middle.
  '{"bare":\ndata: {"n":1}',
  '{"bare":2}',
  ': a comment',
  'data: : a comment',
  'data: [DONE]',
  'data: it broke',
  '',
)
const ending = fc.constantFrom('\n\n', '\n\n', '\n\n', '\r\n\r\n', '\r\r', '\n', '\r\n', '')

/** So many that a reader gives up skimming for a while. */
const unusual = 'data: {"n":"6","more":[1]}\n\n'.repeat(20)

const skimmedStream = target({
  name: 'skimmed-stream',
  promises: 'a stream says the same whether its usual events are skimmed or parsed, however it is cut',
  cost: 'cheap',
  input: fc.tuple(
    fc
      .tuple(fc.constantFrom('', unusual), fc.array(fc.tuple(event, ending), { maxLength: 8 }))
      .map(([before, events]) => before + events.flat().join('')),
    fc.array(fc.nat(900), { maxLength: 6 }),
  ),
  check([text, cuts]) {
    const pieces = cutAt(Buffer.from(text), cuts)
    assert.deepEqual(readStream(pieces, true), readStream(pieces, false))
  },
})

const jsonValues = target({
  name: 'json-values',
  promises: 'the objects of any JSON values are found, in any arrangement and however cut',
  cost: 'moderate',
  input: fc.tuple(
    fc.array(fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }), { maxLength: 6 }),
    fc.constantFrom('', '\n', ',', ' ,\r\n', '\u001e'),
    fc.nat(4),
    places,
  ),
  check([objects, join, indent, cuts]) {
    const texts = objects.map((value) => JSON.stringify(value, null, indent))
    const values: string[] = []
    const strays: string[] = []
    const splitter = source.createJsonValueSplitter(
      (text) => values.push(text),
      (text) => strays.push(text),
    )
    for (const piece of cutAt(texts.join(join), cuts)) splitter.feed(piece)
    assert.deepEqual([values, strays, splitter.pendingLength], [texts, [], 0])
  },
})

const messages = fc.array(hostileValue, { maxLength: 4 })

const responseEvents = target({
  name: 'response-events',
  promises: 'any JSON as events of a response is decoded, or refused with an error of the program',
  cost: 'cheap',
  input: messages,
  check: (values) => void decode(createResponseDecoder, values),
})

const contentChunks = target({
  name: 'content-chunks',
  promises: 'any JSON as chunks of generated content is decoded, or refused with an error of the program',
  cost: 'cheap',
  input: messages,
  check: (values) => void decode(createContentDecoder, values),
})

export const streamTargets = [
  eventStream,
  cutCorpus,
  skimmedStream,
  jsonValues,
  responseEvents,
  contentChunks,
]
