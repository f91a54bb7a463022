import { expect, test } from 'vitest'
import { errorCode, readErrorBody, type ErrorBody } from '../../src/gateway/reply-errors.ts'
import { replyError } from '../../src/gateway/gateway-errors.ts'
import { prototypes } from './hostile-values.ts'

test.for([
  [{ error: { message: 'No.', code: 'moderation_blocked' } }, true],
  [{ type: 'error', code: 'content_policy_violation', message: 'No.' }, true],
  [{ error: { message: 'It was rejected by the safety system.' } }, true],
  [{ error: { message: 'No.', code: 'server_error' } }, false],
] as const)('refused content in a reply asks for another prompt: %j', ([value, isRefused]) => {
  const { exitCode, facts } = replyError(value)
  expect([exitCode, facts.hint?.startsWith('Change the prompt') === true]).toEqual([9, isRefused])
})

const gemini429 = {
  error: {
    code: 429,
    message: 'You exceeded your quota.\nPlease retry in 48.9s.',
    status: 'RESOURCE_EXHAUSTED',
    details: [
      { '@type': 'type.googleapis.com/google.rpc.Help', links: [] },
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.4s' },
    ],
  },
}
const geminiKey = {
  error: {
    code: 400,
    message: 'API key not valid.',
    status: 'INVALID_ARGUMENT',
    details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }],
  },
}

const envelopes: readonly (readonly [string, unknown, Partial<ErrorBody>])[] = [
  [
    'OpenAI',
    {
      error: {
        message: 'No.',
        type: 'invalid_request_error',
        param: 'input',
        code: 'context_length_exceeded',
      },
    },
    { message: 'No.', code: 'context_length_exceeded', param: 'input' },
  ],
  [
    'OpenAI without a code',
    { error: { message: 'No.', type: 'invalid_request_error', param: null, code: null } },
    { message: 'No.', code: 'invalid_request_error', param: undefined },
  ],
  ['Gemini', gemini429, { message: gemini429.error.message, code: 'RESOURCE_EXHAUSTED', retryAfterS: 34.4 }],
  ['Gemini with a reason', geminiKey, { message: 'API key not valid.', code: 'API_KEY_INVALID' }],
  ['Gemini in an array', [geminiKey], { message: 'API key not valid.', code: 'API_KEY_INVALID' }],
  [
    'new-api',
    {
      error: {
        message: 'No. (request id: 2026abcXYZ)',
        type: 'new_api_error',
        param: '',
        code: 'bad_response',
      },
    },
    { code: 'bad_response', param: undefined, requestId: '2026abcXYZ' },
  ],
  [
    'new-api with a number for code',
    { error: { message: 'No.', type: 'new_api_error', code: 503 } },
    { message: 'No.', code: 'new_api_error' },
  ],
  [
    'new-api with an object for code',
    { error: { message: 'No.', code: {} } },
    { message: 'No.', code: undefined },
  ],
  [
    'a new-api task',
    { code: 'task_not_exist', message: 'No.', data: null },
    { message: 'No.', code: 'task_not_exist' },
  ],
  [
    'OpenRouter',
    {
      error: {
        code: 429,
        message: 'Provider returned error',
        metadata: { provider_name: 'x', raw: 'Slow down' },
      },
      user_id: 'u',
    },
    { message: 'Provider returned error: Slow down', code: '429' },
  ],
  ['xAI', { code: 'invalid-argument', error: 'No.' }, { message: 'No.', code: 'invalid-argument' }],
  ['llmgateway', { error: true, status: 401, message: 'No.' }, { message: 'No.', code: '401' }],
  ['only a message', { message: 'No.' }, { message: 'No.', code: undefined }],
  ['only a detail', { detail: 'No.' }, { message: 'No.' }],
  ['a message beside a code', { error: { code: 'busy' }, message: 'One.' }, { message: 'One.' }],
  ['a shorter word for it', { code: 401, msg: 'No.' }, { message: 'No.' }],
  [
    'FastAPI',
    { detail: [{ loc: ['body'], msg: 'field required' }, { message: ' One. ' }, 'No.', 7] },
    { message: 'field required; One.; No.' },
  ],
  ['a list of errors', { errors: [{ message: 'One.' }, { message: 'Two.' }] }, { message: 'One.; Two.' }],
  ['a request id of its own', { error: { message: 'No.', request_id: 'req_1' } }, { requestId: 'req_1' }],
  ['a request id outside', { error: { message: 'No.' }, request_id: 'req_2' }, { requestId: 'req_2' }],
  ['a text as JSON', 'No.', { message: 'No.' }],
  ['null', null, { message: undefined, words: [] }],
  ['an empty object', {}, { message: undefined, words: [] }],
  ['an empty array', [], { message: undefined }],
  ['a number', 7, { message: undefined }],
  [
    'nulls',
    { error: { message: null, code: null, type: null, details: null } },
    { message: undefined, words: [] },
  ],
  ['blanks', { error: { message: '  ', code: ' ' } }, { message: undefined, words: [] }],
  [
    'an unusual detail',
    { error: { message: 'No.', details: [null, 'x', { retryDelay: 5 }] } },
    { message: 'No.', retryAfterS: undefined },
  ],
]

test.for(envelopes)('reads the envelope of %s', ([, value, expected]) => {
  expect(readErrorBody(JSON.stringify(value))).toMatchObject(expected)
  expect(readErrorBody(`\n${JSON.stringify(value, null, 2)}\r\n`)).toMatchObject(expected)
})

test.for([
  ['', undefined],
  [' \n ', undefined],
  ['Bad gateway', 'Bad gateway'],
  ['upstream saturated\nat line 7', 'upstream saturated'],
  ['{"error":{"message":"cut', '{"error":{"message":"cut'],
  ['<html><head>\n<title>\n502 Bad  Gateway</title>', 'an HTML page, "502 Bad Gateway"'],
  ['<TITLE></TITLE>', 'an HTML page'],
  ['  <html>', 'an HTML page'],
  [`<title lang="en">${'x'.repeat(201)}</title>`, `an HTML page, "${'x'.repeat(200)}"`],
])('reads a body that is not JSON: %j', ([body, message]) => {
  expect(readErrorBody(body!)).toEqual({ message, words: [] })
})

test.for([
  ['48.25s', 48.25],
  ['0s', 0],
  ['0.25s', 0.25],
  ['-1s', undefined],
  ['1e309s', undefined],
  ['48', undefined],
  ['5seconds', undefined],
  ['9999999999999999999s', undefined],
])('a retryDelay of %s is %s seconds', ([retryDelay, seconds]) => {
  const body = { error: { message: 'No.', details: [{ retryDelay }] } }
  expect(readErrorBody(JSON.stringify(body)).retryAfterS).toBe(seconds)
})

test.for([
  ['Please retry in 48.9s.', 48.9],
  ['PLEASE RETRY IN 5s', 5],
  ['Please retry in 5 minutes', undefined],
  ['Please retry in 99999999999s', undefined],
])('a message may tell the wait: %s', ([message, seconds]) => {
  expect(readErrorBody(JSON.stringify({ error: { message } })).retryAfterS).toBe(seconds)
})

test('shows no more of a message than 4 KiB', () => {
  const message = 'x'.repeat(1_000_000)
  const raw = { error: { message, metadata: { raw: message } } }
  const list = { detail: Array.from({ length: 10_000 }, () => 'No way.') }
  for (const body of [{ error: { message } }, { error: message }, raw, list, message]) {
    expect(readErrorBody(JSON.stringify(body)).message?.length).toBeLessThanOrEqual(4096)
  }
})

test('reads what is nested deep, and what is named after the prototype', () => {
  const before = prototypes()
  readErrorBody('{"__proto__":{"message":"x"},"error":{"__proto__":{"polluted":1}}}')
  readErrorBody('['.repeat(100_000))
  readErrorBody('{"error":'.repeat(100_000) + '1' + '}'.repeat(100_000))
  expect(prototypes()).toEqual(before)
})

test.each([
  // What another envelope calls its code counts too, and "error" alone says nothing.
  [{ message: 'No.', type: 'error', error: { code: 'busy' } }, ['busy']],
  [{ error: { message: 'No.', type: 'error' }, code: 'outer_code' }, ['outer_code']],
  [
    {
      error: { message: 'No.', code: 'content_filter', innererror: { code: 'ResponsibleAIPolicyViolation' } },
    },
    ['content_filter', 'ResponsibleAIPolicyViolation'],
  ],
  [{ error: { message: 'No.', details: [{ reason: 'A' }, { reason: 'B' }] } }, ['A', 'B']],
  [{ error: { message: 'No.', details: [] } }, []],
])('the codes of %j are %j', (value, words) => {
  expect(readErrorBody(JSON.stringify(value)).words).toEqual(words)
})

test.each([
  [undefined, undefined],
  ['', undefined],
  ['503', undefined],
  ['503a', '503a'],
  ['--Bad -- Gateway!!', 'bad_gateway'],
  ['x'.repeat(61), 'x'.repeat(60)],
  ['1'.repeat(60) + 'x', undefined],
])('the code %j is %j here', (code, own) => {
  expect(errorCode(code)).toBe(own)
})

test.each([
  [{ error: { message: 'No.', code: 'Server-Error' } }, 'server_error', 'The gateway reported an error: No.'],
  [{ error: { code: 'server_error' } }, 'server_error', 'The gateway reported an error: server_error'],
  [{ error: {} }, 'error_in_reply', 'The gateway reported an error: no reason given'],
])('a reply that holds %j failed', (value, code, message) => {
  expect(replyError(value)).toMatchObject({
    exitCode: 9,
    code,
    message,
    facts: { phase: 'stream', billed: 'maybe' },
  })
})
