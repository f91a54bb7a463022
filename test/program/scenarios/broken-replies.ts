import { end, json, readAll, sse, text, write } from '../../support/server-replies.ts'
import type { Scenario } from '../scenario.ts'

const facts = { phase: 'reply', retry_after_s: null } as const

const brokenPart = {
  candidates: [
    { content: { parts: [{ inlineData: { mimeType: 'image/png', data: '...' } }] }, finishReason: 'STOP' },
  ],
}
const brokenItem = {
  object: 'response',
  status: 'completed',
  output: [{ type: 'image_generation_call', status: 'completed', result: '...' }],
}

/** Exit code 8: there is an answer, but not one that the contract knows. Asked only once. */
export const brokenReplies: readonly Scenario[] = [
  {
    name: 'an HTML page with status 200',
    replies: () => [
      text('<!doctype html><html><title>Log in</title></html>', { headers: { 'request-id': 'req_7' } }),
    ],
    exit: 8,
    says: /The gateway answered with an HTML page, "Log in"\./,
    error: { ...facts, code: 'html_reply', billed: 'maybe', request_id: 'req_7' },
  },
  {
    name: 'an empty reply with status 200',
    replies: () => [text('')],
    exit: 8,
    says: /The reply contains neither text nor the end of a generation\./,
    error: { ...facts, code: 'reply_not_understood', billed: 'maybe' },
  },
  {
    name: 'an empty stream',
    replies: () => [sse([': hello\n\n'])],
    exit: 8,
    says: /The reply contains neither text nor the end of a generation\./,
    error: { ...facts, code: 'reply_not_understood', billed: 'maybe' },
  },
  {
    name: 'JSON of another kind',
    replies: () => [json({ hello: 'world' })],
    exit: 8,
    says: /The reply contains neither text nor the end of a generation\./,
    error: { ...facts, code: 'reply_not_understood', billed: 'maybe' },
  },
  {
    name: 'an event that is not valid JSON',
    replies: ({ delta, end: last }) => [sse([delta('Hello, '), 'data: {"secret": prompt}\n\n', last])],
    exit: 8,
    stdout: 'Hello, \n',
    says: /A message of the reply is not valid JSON\./,
    error: { ...facts, code: 'malformed_message', billed: 'maybe' },
  },
  {
    name: 'nothing but an image that cannot be read',
    replies: ({ name }) => [json(name === 'generate' ? brokenPart : brokenItem)],
    exit: 8,
    says: /An image of the reply is not valid base64/,
    error: { ...facts, code: 'bad_base64', billed: 'yes' },
  },
  {
    name: 'an encoded reply',
    replies: ({ delta }) => [
      sse([delta('Hello.')], { headers: { 'content-encoding': 'gzip' }, ending: 'stall' }),
    ],
    exit: 8,
    says: /The reply is encoded \(gzip\), which was not requested\./,
    error: { ...facts, code: 'encoded_reply', billed: 'maybe' },
  },
  {
    name: 'a redirect to another host',
    replies: () => [text('', { status: 307, headers: { location: 'https://elsewhere.invalid/v1?a=b' } })],
    exit: 8,
    says: /a redirect \(HTTP 307\) to https:\/\/elsewhere\.invalid;/,
    error: { ...facts, code: 'unexpected_redirect', billed: 'no', http_status: 307 },
  },
  {
    name: 'a redirect within the host',
    replies: () => [text('', { status: 301, headers: { location: '/v2/responses' } })],
    exit: 8,
    says: /a redirect \(HTTP 301\) to the same host;/,
    error: { ...facts, code: 'unexpected_redirect', billed: 'no', http_status: 301 },
  },
  {
    name: 'a status that does not exist',
    replies: () => [text('', { status: 999 })],
    exit: 8,
    says: /The gateway answered with HTTP 999\./,
    error: { ...facts, code: 'unexpected_status', billed: 'maybe', http_status: 999 },
  },
  {
    name: 'headers without end',
    replies: () => [[readAll, write(`HTTP/1.1 200 OK\r\nx-long: ${'a'.repeat(140_000)}\r\n\r\n`), end]],
    exit: 8,
    says: /The headers of the reply are larger than 128 KiB\./,
    error: { phase: 'wait', code: 'reply_limit', billed: 'maybe', http_status: null },
  },
  {
    name: 'something that is not HTTP',
    replies: () => [[readAll, write('SSH-2.0-OpenSSH_9.9\r\n'), end]],
    exit: 8,
    says: /cannot be read\./,
    error: { phase: 'wait', code: 'reply_protocol', billed: 'maybe', http_status: null },
  },
]
