import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import { ContractError, ModelgateError, exitCodes } from '../../../src/errors.ts'
import { createBase64Decoder } from '../../../src/gateway/base64.ts'
import { readErrorBody } from '../../../src/gateway/reply-errors.ts'
import { mayRepeat, waitBefore, waitHint } from '../../../src/gateway/retry.ts'
import { statusError } from '../../../src/gateway/gateway-errors.ts'
import { hostileValue } from '../../gateway/hostile-values.ts'
import { readReply } from '../../gateway/images/read-reply.ts'
import { corpora } from '../../gateway/images/replies.ts'
import { anyText } from '../../support/any-text.ts'
import { cutAt, places, textOf } from '../arbitraries.ts'
import { target } from '../target.ts'

const items = fc.array(
  fc.record({
    bytes: fc.uint8Array({ minLength: 1, maxLength: 40 }),
    before: hostileValue,
    after: hostileValue,
  }),
  { minLength: 1, maxLength: 4 },
)

/** A JSON literal of a text, some of its characters escaped as any encoder may. */
const literal = (text: string, escaped: readonly boolean[]) =>
  `"${[...text].map((letter, at) => (escaped[at % escaped.length] ? `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}` : letter)).join('')}"`

const imageReply = target({
  name: 'image-reply',
  promises: 'the images, and nothing else, are taken out of any reply',
  cost: 'moderate',
  input: fc.record({
    list: items,
    outer: hostileValue,
    escaped: fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
    indent: fc.constantFrom(0, 2),
    cuts: places,
  }),
  async check({ list, outer, escaped, indent, cuts }) {
    const json = (value: unknown) => JSON.stringify(value, null, indent)
    const entries = list.map(({ bytes, before, after }) => {
      const picture = literal(Buffer.from(bytes).toString('base64'), escaped)
      return `{"x":${json(before)},"b64_json" :${picture},"y":${json(after)}}`
    })
    const bytes = Buffer.from(`{"outer":${json(outer)},"data":[ ${entries.join(' , ')} ],"z":0}`)
    const read = await readReply(cutAt(bytes, cuts))
    assert.equal(read.error, undefined)
    assert.deepEqual(
      read.pictures,
      list.map(({ bytes: picture }, at) => `${at}: done ${Buffer.from(picture).toString('latin1')}`.trim()),
    )
    const expected = JSON.parse(bytes.toString()) as { data: { b64_json: unknown }[] }
    for (const item of expected.data) item.b64_json = null
    assert.deepEqual(read.results, [expected])
  },
})

const imageTokens = [
  ['{', '}', '[', ']', ',', ':', '"', '\\', '\n', '\r', ' ', 'data:', 'data: ', 'event: error\n'],
  ['[DONE]', '"data":[', '"b64_json":"', '"url":"data:', ';base64,', 'AAAA', '=', '"error":', 'null'],
  ['1e9', '\\u00', 'é'],
].flat()

const imageBytes = target({
  name: 'image-bytes',
  promises: 'in a reply of any bytes an image is whole or given up, however the bytes are cut',
  cost: 'moderate',
  input: fc.tuple(
    fc.oneof(
      textOf(imageTokens, fc.string()).map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    ),
    places,
  ),
  async check([bytes, cuts]) {
    const read = await readReply(cutAt(bytes, cuts))
    assert.ok(read.pictures.every((picture) => /: (done|kept|dropped)/.test(picture)))
    assert.deepEqual(await readReply([bytes]), read)
  },
})

const cutImages = target({
  name: 'cut-images',
  promises: 'a known reply with images is read alike, cut at any places, whatever its line endings',
  cost: 'moderate',
  input: fc.tuple(fc.nat(corpora.length - 1), fc.constantFrom('\n', '\r\n', '\r'), places),
  async check([which, ending, cuts]) {
    const { bytes } = corpora[which]!
    const wire = bytes.toString('latin1')
    const isStream = wire.includes('data:') && !wire.startsWith('{') && !wire.includes('\r')
    const sent = Buffer.from(isStream ? wire.replaceAll('\n', ending) : wire, 'latin1')
    assert.deepEqual(await readReply(cutAt(sent, cuts)), await readReply([bytes]))
  },
})

/** Decodes a text that arrives in pieces; the code of the error if it is refused. */
async function decodeBase64(pieces: Iterable<Uint8Array>): Promise<Buffer | string> {
  const blocks: Uint8Array[] = []
  const decoder = createBase64Decoder(async (bytes) => void blocks.push(Buffer.from(bytes)))
  try {
    for (const piece of pieces) await decoder.push(Buffer.from(piece))
    const total = await decoder.end()
    const whole = Buffer.concat(blocks)
    assert.equal(total, whole.length)
    return whole
  } catch (error) {
    if (error instanceof ContractError) return error.code
    throw error
  }
}

/** The ways in which the same bytes are written (fault E34). */
const spellings: Readonly<Record<string, (text: string) => string>> = {
  usual: (text) => text,
  unpadded: (text) => text.replaceAll('=', ''),
  url: (text) => text.replaceAll('+', '-').replaceAll('/', '_'),
  lines: (text) => text.replaceAll(/.{4}/g, '$&\r\n'),
  blanks: (text) => [...text].join(' \t') + '\n',
}

const base64 = target({
  name: 'base64',
  promises: 'any bytes are decoded, in every spelling and in any pieces',
  cost: 'moderate',
  input: fc.tuple(fc.uint8Array({ maxLength: 300 }), fc.constantFrom(...Object.keys(spellings)), places),
  async check([bytes, spelling, cuts]) {
    const text = Buffer.from(spellings[spelling]!(Buffer.from(bytes).toString('base64')))
    const decoded = await decodeBase64(cutAt(text, cuts))
    assert.equal(Buffer.compare(decoded as Buffer, bytes), 0)
  },
})

const goodBase64 = Buffer.from('abcdefgh'.repeat(8)).toString('base64')

const badBase64 = target({
  name: 'bad-base64',
  promises: 'a character that base64 has not is refused, wherever it stands',
  cost: 'moderate',
  input: fc.tuple(
    fc.integer({ min: 0, max: goodBase64.length }),
    fc.integer({ min: 0, max: 255 }).filter((byte) => !/[\w+/\-=\t\n\f\r ]/.test(String.fromCharCode(byte))),
    places,
  ),
  async check([at, byte, cuts]) {
    const [before, after] = [goodBase64.slice(0, at), goodBase64.slice(at)].map((part) => Buffer.from(part!))
    const text = Buffer.concat([before!, Buffer.of(byte), after!])
    assert.equal(await decodeBase64(cutAt(text, cuts)), 'damaged_media')
  },
})

const errorNames = ['error', 'message', 'details', 'code', '__proto__', 'detail', 'errors', 'metadata', 'raw']
const moreErrorNames = 'status type reason retryDelay request_id innererror promptFeedback'.split(' ')
const { any: errorValue } = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.string(),
    fc.constantFrom<unknown>(null, 1, 429, true, 'content_policy_violation', 'insufficient_quota', '34.4s'),
    fc.constantFrom<unknown>('Please retry in 48.9s.', 'API key not valid', 'model_not_found', 'SAFETY'),
    fc.array(tie('any'), { maxLength: 4 }),
    // From JSON, so that `__proto__` is a field of its own.
    fc
      .array(fc.tuple(fc.constantFrom(...errorNames, ...moreErrorNames), tie('any')), { maxLength: 5 })
      .map((fields) => {
        const texts = fields.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)
        return JSON.parse(`{${texts.join(',')}}`) as unknown
      }),
  ),
}))
const errorText = fc.oneof(
  errorValue.map((value) => JSON.stringify(value)),
  anyText(),
  textOf(['<html>', '<title>', '</title>', '\n', '\r\n', ' ', '{"error":', '"', '}'], fc.string()),
)

const errorBody = target({
  name: 'error-body',
  promises: 'any body of an error is read, and no more of it shown than 4 KiB',
  cost: 'trivial',
  input: errorText,
  check(text) {
    const body = readErrorBody(text)
    assert.ok((body.message ?? '').length <= 4096)
    assert.ok(body.words.every((word) => typeof word === 'string'))
    assert.ok(body.retryAfterS === undefined || body.retryAfterS >= 0)
  },
})

const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec Foo'.split(' ')
const httpDate = fc
  .tuple(fc.nat(40), fc.constantFrom(...months), fc.nat(9999), fc.nat(30), fc.nat(70), fc.nat(70))
  .map(([day, month, year, ...time]) => {
    const clock = time.map((part) => String(part).padStart(2, '0')).join(':')
    return `Wed, ${String(day).padStart(2, '0')} ${month} ${year} ${clock} GMT`
  })
const headerText = fc.oneof(
  fc.integer().map(String),
  fc.double().map(String),
  httpDate,
  fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
  textOf(['9', '0', '.', '-', '+', 'e', ',', ' ', '\t', 'Infinity', 'NaN', '0x', 's', '1_0', '٣']),
  fc.string(),
)
const waitHeaders = fc.record(
  {
    'retry-after': headerText,
    'retry-after-ms': headerText,
    date: headerText,
    'x-should-retry': fc.constantFrom('true', 'false', 'TRUE', ''),
  },
  { requiredKeys: [], noNullPrototype: true },
)
const now = Date.UTC(2026, 0, 1)

const retryAfter = target({
  name: 'retry-after',
  promises: 'whatever headers ask for is a wait of a known length, of not less than nothing, or none',
  cost: 'trivial',
  input: fc.tuple(waitHeaders, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), fc.nat(2000)),
  check([headers, random, attempt]) {
    const asked = waitHint(headers, undefined, now)
    assert.ok(asked === undefined || (Number.isFinite(asked) && asked >= 0))
    const waits = waitBefore(attempt, asked, random)
    assert.ok(Number.isFinite(waits) && waits >= 0 && waits <= (asked ?? 8))
    // Digits alone are what they say, or too many for a time.
    const digits = /^\s*(\d{1,15})\s*$/.exec(headers['retry-after'] ?? '')?.[1]
    if (digits !== undefined && !('retry-after-ms' in headers)) assert.equal(asked, Number(digits))
  },
})

const httpError = target({
  name: 'http-error',
  promises: 'any status with any headers and body is an error of one of the documented exit codes',
  cost: 'cheap',
  input: fc.record({
    status: fc.oneof(
      fc.integer({ min: 100, max: 999 }).filter((status) => status < 200 || status > 299),
      fc.constantFrom(400, 401, 403, 404, 429, 500, 503),
    ),
    headers: waitHeaders,
    text: errorText,
    kind: fc.constantFrom('text' as const, 'create' as const, 'read' as const),
  }),
  check({ status, headers, text, kind }) {
    const error = statusError(status, headers, text, kind, now)
    assert.ok(error instanceof ModelgateError)
    assert.equal(error.exitCode, exitCodes[error.exit].code)
    assert.ok(error.exitCode > 1 && error.exitCode < 10)
    assert.ok(/^[a-z0-9_]*[a-z][a-z0-9_]*$/.test(error.code))
    const policy = { mode: 'safe', maxRetries: 2, idempotencyHonoured: false } as const
    const repeats = mayRepeat(error, kind, policy)
    // What may have been done already is not done again, unless the gateway itself says that it may be.
    if (kind === 'create' && error.facts.billed === 'maybe' && headers['x-should-retry'] !== 'true') {
      assert.ok(!repeats)
    }
  },
})

export const replyTargets = [
  imageReply,
  imageBytes,
  cutImages,
  base64,
  badBase64,
  errorBody,
  retryAfter,
  httpError,
]
