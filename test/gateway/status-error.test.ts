import { expect, test } from 'vitest'
import type { RequestKind } from '../../src/gateway/retry.ts'
import { statusError } from '../../src/gateway/gateway-errors.ts'
import { requestIdOf } from '../../src/gateway/exchange.ts'

const now = Date.UTC(2026, 0, 1)
const error = (status: number, body: unknown = '', headers = {}, kind: RequestKind = 'text') =>
  statusError(status, headers, typeof body === 'string' ? body : JSON.stringify(body), kind, now)

/** Exit codes of product.md by status; for 500 and its like: what a request that creates and one that reads get. */
const exits: readonly (readonly [number, number, number])[] = [
  [300, 8, 8],
  [308, 8, 8],
  [400, 4, 4],
  [401, 3, 3],
  [402, 4, 4],
  [403, 3, 3],
  [404, 4, 4],
  [408, 5, 5],
  [409, 4, 4],
  [413, 4, 4],
  [422, 4, 4],
  [425, 5, 5],
  [429, 5, 5],
  [451, 4, 4],
  [499, 4, 4],
  [500, 7, 5],
  [501, 4, 4],
  [502, 7, 5],
  [503, 5, 5],
  [504, 7, 5],
  [505, 7, 5],
  [522, 5, 5],
  [529, 5, 5],
  [599, 7, 5],
  [600, 8, 8],
  [999, 8, 8],
]

test.for(exits)('HTTP %i ends with %i, for a request that only reads with %i', ([status, text, read]) => {
  const bodies = [
    '',
    '<title>Oops</title>',
    '{"error":{"message":"Oops"}}',
    '{"error":"Oops"}',
    '\u0000\u0001',
  ]
  for (const body of bodies) {
    expect(error(status, body).exitCode).toBe(text)
    expect(error(status, body, {}, 'create').exitCode).toBe(text)
    expect(error(status, body, {}, 'read').exitCode).toBe(read)
    const { httpStatus, billed } = error(status, body).facts
    expect([httpStatus, billed]).toEqual([status, text === 7 || status > 599 ? 'maybe' : 'no'])
  }
})

test.for([
  [400, { error: { message: 'API key not valid.', details: [{ reason: 'API_KEY_INVALID' }] } }],
  [400, { code: 'invalid-argument', error: 'Incorrect API key provided: xx. You can obtain an API key…' }],
  [400, { message: 'Invalid API-key' }],
  [401, { error: { message: 'Anything', code: 'x' } }],
  [403, { error: { message: 'No.', status: 'PERMISSION_DENIED' } }],
] as const)('HTTP %i with %j means a bad key', ([status, body]) => {
  expect(error(status, body)).toMatchObject({
    exitCode: 3,
    facts: { hint: expect.stringContaining('MODELGATE_API_KEY') as string },
  })
})

test.for([
  [403, { error: { message: 'No.', type: 'new_api_error', code: 'insufficient_user_quota' } }],
  [402, {}],
  [400, { error: { message: 'The prompt mentions an api key rotation policy.' } }],
] as const)('HTTP %i with %j is rejected for good', ([status, body]) => {
  expect(error(status, body).exitCode).toBe(4)
})

test.each([
  'insufficient_quota',
  'insufficient_user_quota',
  'billing_hard_limit_reached',
  'billing_not_active',
  'credits_exhausted',
  'QUOTA_EXCEEDED',
])('no waiting restores what %s has spent', (code) => {
  expect(error(429, { error: { message: 'No.', code } }).exitCode).toBe(4)
})

test.each(['api_key_invalid', 'invalid_api_key', 'api_key_expired', 'invalid_authentication'])(
  'the code %s names a bad key with HTTP 400 only',
  (code) => {
    expect(error(400, { error: { message: 'No.', code } }).exitCode).toBe(3)
    expect(error(404, { error: { message: 'No.', code } }).exitCode).toBe(4)
  },
)

test.each([
  'Incorrect apikey.',
  'A missing API-key.',
  'Wrong api key.',
  'Bad API key.',
  'Expired API key.',
  'The API-key is invalid.',
  'Your apikey expired.',
])('the message %j is about the key', (message) => {
  expect(error(400, { error: { message } }).exitCode).toBe(3)
})

test('a model that nobody serves is an answer with 503 only', () => {
  const body = { error: { message: 'No.', code: 'model_not_found' } }
  expect(error(503, body).exitCode).toBe(4)
  expect(error(429, body).exitCode).toBe(5)
})

test('a rate limit is no spent quota', () => {
  const body = {
    error: {
      code: 429,
      message: 'You exceeded your current quota. Please retry in 5s.',
      status: 'RESOURCE_EXHAUSTED',
    },
  }
  expect(error(429, body)).toMatchObject({
    exitCode: 5,
    code: 'resource_exhausted',
    facts: { retryAfterS: 5 },
  })
  expect(error(429, { error: { message: 'Slow down', code: 'rate_limit_exceeded' } }).exitCode).toBe(5)
})

test.for([
  [400, { error: { code: 'Context-Length.Exceeded!' } }, 'context_length_exceeded'],
  [400, { error: { code: 400 } }, 'http_400'],
  [400, { error: { code: '错误' } }, 'http_400'],
  [400, { error: { code: '4.0 / 2' } }, 'http_400'],
  [401, {}, 'key_refused'],
  [500, '', 'http_500'],
] as const)('HTTP %i with %j has the code %s', ([status, body, code]) => {
  expect(error(status, body).code).toBe(code)
})

test('says what the gateway said, and of which parameter', () => {
  const body = { error: { message: 'Too high.', param: 'temperature', code: 'decimal_above_max_value' } }
  expect(error(400, body).message).toBe(
    'The gateway rejected the request (HTTP 400): Too high. [temperature]',
  )
  const named = { error: { message: 'temperature is too high.', param: 'temperature' } }
  expect(error(400, named).message).toBe(
    'The gateway rejected the request (HTTP 400): temperature is too high.',
  )
  expect(error(400, { error: { message: 'Too high.' } }).message).toBe(
    'The gateway rejected the request (HTTP 400): Too high.',
  )
  expect(error(400).message).toBe('The gateway rejected the request (HTTP 400).')
})

test.for([
  [{ 'x-request-id': 'a', 'cf-ray': 'd' }, 'a'],
  [{ 'request-id': 'b' }, 'b'],
  [{ 'x-oneapi-request-id': 'c' }, 'c'],
  [{ 'cf-ray': 'd' }, 'd'],
  [{ 'x-request-id': 'a\u001b[31m b' }, 'a[31mb'],
  [{ 'x-request-id': 'x'.repeat(1_000) }, 'x'.repeat(200)],
  [{ 'x-request-id': '' }, undefined],
  [{}, undefined],
] as const)('finds the request id in %j', ([headers, id]) => {
  expect(requestIdOf(headers)).toBe(id)
})

test('prefers the request id of the headers to that of the body', () => {
  const body = { error: { message: 'No. (request id: inbody)' } }
  expect(error(400, body, { 'x-request-id': 'inheader' }).facts.requestId).toBe('inheader')
  expect(error(400, body).facts.requestId).toBe('inbody')
})

test.for([
  ['https://elsewhere.test/path?key=secret', 'https://elsewhere.test'],
  ['/v1/other?key=secret', 'the same host'],
  [undefined, 'nowhere'],
] as const)('names where a redirect to %s leads, without its query', ([location, place]) => {
  const { message, exitCode } = error(307, '', location === undefined ? {} : { location })
  expect(exitCode).toBe(8)
  expect(message).toContain(`to ${place};`)
  expect(message).not.toContain('secret')
})

test.for([
  [401, 'text', 'The gateway refused the key (HTTP 401).'],
  [429, 'text', 'The gateway cannot answer now (HTTP 429).'],
  [400, 'text', 'The gateway rejected the request (HTTP 400).'],
  [500, 'text', 'The gateway failed, but may have done the work anyway (HTTP 500).'],
  [500, 'read', 'The gateway cannot answer now (HTTP 500).'],
] as const)('HTTP %i to a request of the kind %s is told so: %s', ([status, kind, message]) => {
  const { facts, ...rest } = error(status, '', {}, kind)
  expect(error(status, '', {}, kind).message).toBe(message)
  expect({ ...rest, ...facts }).toMatchObject({ phase: 'reply' })
})

test.for([
  [429, undefined, 'Run it again later.'],
  [500, undefined, 'Check your usage before you run it again.'],
  [413, undefined, 'Send less: a shorter prompt or smaller attachments.'],
  [404, 'The server is out of order.', undefined],
  [400, 'Not found.', undefined],
] as const)('HTTP %i with the message %j hints: %s', ([status, message, hint]) => {
  expect(error(status, message === undefined ? '' : { error: { message } }).facts.hint).toBe(hint)
})

test.for([
  [100, 'reply_not_understood', 'The gateway answered with HTTP 100.', undefined],
  [199, 'reply_not_understood', 'The gateway answered with HTTP 199.', undefined],
  [600, 'reply_not_understood', 'The gateway answered with HTTP 600.', undefined],
  [
    300,
    'reply_not_understood',
    'The gateway answered with a redirect (HTTP 300) to nowhere; it is not followed, so that neither key nor prompt goes elsewhere.',
    'Set the address it points to as the base URL (--base-url), if you trust it.',
  ],
] as const)('HTTP %i breaks the contract: %s', ([status, code, message, hint]) => {
  const unexpected = error(status)
  expect(unexpected).toMatchObject({ exitCode: 8, code, message, facts: { httpStatus: status } })
  expect(unexpected.facts.hint).toBe(hint)
  expect(unexpected.facts.billed).toBe(hint === undefined ? 'maybe' : 'no')
})

test('tells how long to wait', () => {
  expect(error(429, '', { 'retry-after': '7.2' })).toMatchObject({
    facts: { retryAfterS: 7.2, hint: 'Run it again in 8 s.' },
  })
})

test.for([
  [
    { message: 'Previous response not found.', param: 'previous_response_id' },
    'Check previous_response_id: the gateway does not find what it names.',
  ],
  [
    { message: 'The previous response is unknown.' },
    'Check previous_response_id: the gateway does not find what it names.',
  ],
  [
    { message: 'Unknown.', code: 'previous_response_not_found' },
    'Check previous_response_id: the gateway does not find what it names.',
  ],
  [
    { message: 'No conversation found.', param: 'conversation' },
    'Check conversation: the gateway does not find what it names.',
  ],
  [{ message: 'Not found.', param: 'model' }, 'Check the model (-m) and the base URL (--base-url).'],
  [{ message: 'Not found.', param: 'x\u001b[2J' }, 'Check the model (-m) and the base URL (--base-url).'],
  [{ message: 'No such route: not found.' }, 'Check the model (-m) and the base URL (--base-url).'],
  [{}, 'Check the model (-m) and the base URL (--base-url).'],
] as const)('HTTP 404 with %j hints at what was not found', ([body, hint]) => {
  expect(error(404, { error: body }).facts.hint).toBe(hint)
})

test.for([
  [
    400,
    { error: { message: 'No.', type: 'image_generation_user_error', code: 'moderation_blocked' } },
    'moderation_blocked',
  ],
  [
    403,
    {
      error: {
        code: 403,
        message: 'Requires moderation',
        metadata: { reasons: ['violence'], flagged_input: 'x' },
      },
    },
    'content_blocked',
  ],
  [
    400,
    {
      error: { message: 'No.', code: 'content_filter', innererror: { code: 'ResponsibleAIPolicyViolation' } },
    },
    'content_filter',
  ],
  [
    400,
    { error: { code: 400, message: 'No.', status: 'INVALID_ARGUMENT', details: [{ reason: 'SAFETY' }] } },
    'safety',
  ],
  [
    400,
    { error: { message: 'No.' }, promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } },
    'prohibited_content',
  ],
  [400, { error: { message: 'Your request was rejected by the safety system.' } }, 'content_refused'],
  [403, { code: 'x', error: 'Content violates usage guidelines.' }, 'content_refused'],
  [422, { error: { message: 'Flagged as violating our usage policy.' } }, 'content_refused'],
  [
    500,
    { error: { message: 'No.', type: 'new_api_error', code: 'sensitive_words_detected' } },
    'sensitive_words_detected',
  ],
  [503, { error: { message: 'No.', code: 'content_filter' } }, 'content_filter'],
] as const)('HTTP %i with %j refuses the content', ([status, body, code]) => {
  for (const kind of ['text', 'create'] as const) {
    const refused = error(status, body, {}, kind)
    expect(refused).toMatchObject({ exitCode: 9, code, facts: { billed: 'no', httpStatus: status } })
    expect(refused.facts.hint).toBe(
      'Change the prompt, or what is attached to it: the same request would be refused again.',
    )
    expect(refused.message).toContain(`The gateway refused the content (HTTP ${status}):`)
  }
  // A look-up sends no content.
  expect(error(status, body, {}, 'read').exitCode).not.toBe(9)
})

test.for([
  [400, { error: { message: 'Invalid value at safety_settings[0].category.', status: 'INVALID_ARGUMENT' } }],
  [400, { error: { message: "Unknown parameter: 'content_filter'.", code: 'unknown_parameter' } }],
  [400, { error: { message: 'Invalid moderation: must be low or auto.', param: 'moderation' } }],
  [404, { error: { message: 'See our usage policies.' } }],
] as const)('HTTP %i with %j refuses the request, not the content', ([status, body]) => {
  expect(error(status, body).exitCode).toBe(4)
})

test.each([
  ['true', true],
  ['false', false],
  ['yes', undefined],
  [undefined, undefined],
])('x-should-retry: %s', (value, expected) => {
  const headers = value === undefined ? {} : { 'x-should-retry': value }
  expect(statusError(409, headers, '', 'create', 0).facts.shouldRetry).toBe(expected)
})
