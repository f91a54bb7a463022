import { json, text, type ServerReply } from '../../support/server-replies.ts'
import type { Scenario } from '../scenario.ts'
import { textStyles } from '../text-styles.ts'

const refused = (status: number, body: unknown): readonly ServerReply[] => [
  json(body, { status, headers: { 'x-request-id': 'req_7' } }),
]
const facts = { phase: 'reply', billed: 'no', request_id: 'req_7', retry_after_s: null } as const

/** What both public APIs say of a key that they do not know. */
const badKey = {
  error: {
    code: 400,
    message: 'API key not valid. Please pass a valid API key.',
    status: 'INVALID_ARGUMENT',
    details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }],
  },
}
const incorrectKey = {
  error: {
    message: 'Incorrect API key provided.',
    type: 'invalid_request_error',
    param: null,
    code: 'invalid_api_key',
  },
}
const contextLength = {
  error: {
    message: 'Your input exceeds the context window of this model.',
    type: 'invalid_request_error',
    param: 'input',
    code: 'context_length_exceeded',
  },
}

/** Exit codes 3 and 4: the gateway says no, and would say it again. Each is asked only once. */
export const refusals: readonly Scenario[] = [
  {
    name: 'HTTP 401',
    replies: ({ error }) => refused(401, error(401, 'UNAUTHENTICATED', 'Who are you?')),
    exit: 3,
    says: /The gateway refused the key \(HTTP 401\): Who are you\?/,
    error: { ...facts, code: 'unauthenticated', http_status: 401 },
  },
  {
    name: 'HTTP 401 with an empty body',
    replies: () => [text('', { status: 401 })],
    exit: 3,
    says: /The gateway refused the key \(HTTP 401\)\./,
    error: { ...facts, code: 'key_refused', http_status: 401, request_id: null },
  },
  {
    name: 'HTTP 403',
    replies: ({ error }) => refused(403, error(403, 'PERMISSION_DENIED', 'Not for you.')),
    exit: 3,
    says: /The gateway refused the key \(HTTP 403\): Not for you\./,
    error: { ...facts, code: 'permission_denied', http_status: 403 },
  },
  {
    name: 'HTTP 400 that says that the key is not valid',
    replies: () => refused(400, badKey),
    exit: 3,
    says: /The gateway refused the key \(HTTP 400\): API key not valid\./,
    error: { ...facts, code: 'api_key_invalid', http_status: 400 },
  },
  {
    name: 'HTTP 400 that says that the key is incorrect',
    replies: () => refused(400, incorrectKey),
    exit: 3,
    says: /The gateway refused the key \(HTTP 400\): Incorrect API key provided\./,
    error: { ...facts, code: 'invalid_api_key', http_status: 400 },
  },
  {
    name: 'HTTP 400',
    replies: ({ error }) => refused(400, error(400, 'INVALID_ARGUMENT', 'Bad field.')),
    exit: 4,
    says: /The gateway rejected the request \(HTTP 400\): Bad field\./,
    error: { ...facts, code: 'invalid_argument', http_status: 400 },
  },
  {
    name: 'HTTP 400 because the prompt is too long',
    replies: () => refused(400, contextLength),
    exit: 4,
    says: /Your input exceeds the context window of this model\./,
    error: { ...facts, code: 'context_length_exceeded', http_status: 400 },
  },
  {
    name: 'HTTP 402',
    replies: () => [text('Payment required', { status: 402 })],
    exit: 4,
    says: /The gateway rejected the request \(HTTP 402\): Payment required/,
    error: { ...facts, code: 'http_402', http_status: 402, request_id: null },
  },
  {
    name: 'HTTP 404',
    replies: ({ error }) => refused(404, error(404, 'NOT_FOUND', 'The model was not found.')),
    exit: 4,
    says: /The gateway rejected the request \(HTTP 404\): The model was not found\./,
    error: { ...facts, code: 'not_found', http_status: 404 },
  },
  {
    name: 'HTTP 429 because the quota is spent, although it asks to wait',
    replies: () => [
      json(textStyles.respond.error(429, 'insufficient_quota', 'You exceeded your current quota.'), {
        status: 429,
        headers: { 'retry-after': '2' },
      }),
    ],
    exit: 4,
    says: /The gateway rejected the request \(HTTP 429\): You exceeded your current quota\./,
    error: { phase: 'reply', billed: 'no', code: 'insufficient_quota', http_status: 429, retry_after_s: 2 },
  },
  {
    name: 'HTTP 503 because no channel serves the model',
    replies: () => refused(503, textStyles.respond.error(503, 'model_not_found', 'No available channel.')),
    exit: 4,
    says: /The gateway rejected the request \(HTTP 503\): No available channel\./,
    error: { ...facts, code: 'model_not_found', http_status: 503 },
  },
  {
    name: 'HTTP 413 as HTML',
    replies: () => [text('<html><title>413 Too Large</title></html>', { status: 413 })],
    exit: 4,
    says: /The gateway rejected the request \(HTTP 413\): an HTML page, "413 Too Large"/,
    error: { ...facts, code: 'http_413', http_status: 413, request_id: null },
  },
]
