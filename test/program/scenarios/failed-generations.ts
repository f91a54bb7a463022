import { json, sse } from '../../support/server-replies.ts'
import type { Scenario } from '../scenario.ts'

const blocked = { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 3 } }
const ended = (status: string, more: object = {}) => ({
  id: 'resp_1',
  object: 'response',
  status,
  output: [],
  ...more,
})
const event = (value: object) => `data: ${JSON.stringify(value)}\n\n`

/** Exit codes 9, 11 and 14: the gateway did its work, and this is what came of it. */
export const failedGenerations: readonly Scenario[] = [
  {
    name: 'an error object with status 200',
    replies: ({ error }) => [json(error(500, 'INTERNAL', 'It broke inside.'))],
    exit: 9,
    says: /It broke inside\./,
    error: { phase: 'stream', billed: 'maybe', http_status: null },
  },
  {
    name: 'an error object as the only event of a stream',
    replies: ({ error }) => [sse([event(error(500, 'INTERNAL', 'It broke inside.') as object)])],
    exit: 9,
    says: /It broke inside\./,
    error: { phase: 'stream', billed: 'maybe' },
  },
  {
    name: 'an error event in the middle of the stream',
    replies: ({ delta, errorEvent }) => [sse([delta('Hello, '), errorEvent])],
    exit: 9,
    stdout: 'Hello, \n',
    says: /It broke inside\./,
    error: { phase: 'stream', billed: 'maybe' },
  },
  {
    name: 'a failure as plain words in the stream',
    replies: ({ delta }) => [sse([delta('Hello, '), 'data: upstream went away\n\n'])],
    exit: 9,
    stdout: 'Hello, \n',
    says: /The gateway aborted the reply: upstream went away/,
    error: { code: 'stream_error', billed: 'maybe' },
  },
  {
    name: 'a refusal, or an answer held back',
    replies: ({ endRefused }) => [sse([endRefused])],
    exit: 9,
    says: /The gateway blocked the answer \(SAFETY\)|The model refused to answer/,
    error: { phase: 'result', billed: 'yes' },
  },
  {
    name: 'content refused by a status, which is not sent again',
    replies: () => [json({ error: { message: 'No.', code: 'content_filter' } }, { status: 500 })],
    exit: 9,
    says: /The gateway refused the content \(HTTP 500\): No\./,
    error: { code: 'content_filter', phase: 'reply', billed: 'no', http_status: 500 },
  },
  {
    name: 'nothing generated',
    replies: ({ end }) => [sse([end])],
    exit: 9,
    says: /Nothing was generated/,
    error: { code: 'nothing_generated', phase: 'result', billed: 'yes' },
  },
  {
    name: 'the token limit before any text',
    replies: ({ endAtLimit }) => [sse([endAtLimit])],
    exit: 9,
    says: /The token limit was reached before any text/,
    error: { code: 'no_text_before_limit', phase: 'result', billed: 'yes' },
  },
  {
    name: 'the token limit with --strict',
    argv: () => ['--strict', 'Say hello.'],
    replies: ({ delta, endAtLimit }) => [sse([delta('Hel'), endAtLimit])],
    exit: 9,
    stdout: 'Hel\n',
    says: /The answer was cut short by the token limit\./,
    error: { code: 'finish_length', phase: 'result', billed: 'yes' },
  },
  {
    name: 'a blocked prompt',
    only: 'generate',
    replies: () => [sse([event(blocked)])],
    exit: 9,
    says: /SAFETY/,
    error: { phase: 'result' },
  },
  {
    name: 'status failed',
    only: 'respond',
    replies: ({ delta }) => [
      sse([
        delta('Hel'),
        event({
          type: 'response.failed',
          response: ended('failed', { error: { code: 'server_error', message: 'The model fell over.' } }),
        }),
      ]),
    ],
    exit: 9,
    stdout: 'Hel\n',
    says: /The model fell over\./,
    error: { code: 'server_error', billed: 'maybe' },
  },
  {
    name: 'status cancelled',
    only: 'respond',
    replies: () => [json(ended('cancelled'))],
    exit: 9,
    says: /The generation was cancelled/,
    error: { code: 'finish_cancelled', phase: 'result', remote_id: 'resp_1' },
  },
  {
    name: 'status queued, though it was not to run in the background',
    only: 'respond',
    argv: () => ['Say hello.'],
    replies: () => [json(ended('queued'))],
    exit: 11,
    says: /The response resp_1 is still running \(queued\)\./,
    error: { code: 'response_running', phase: 'result', billed: 'yes', remote_id: 'resp_1' },
    adds: 'To wait for it: modelgate response wait --base-url http:',
  },
  {
    name: 'an answer that does not match the schema',
    argv: () => ['--schema', '{"type":"object","required":["name"]}', 'Invent a person.'],
    replies: ({ delta, end }) => [sse([delta('{"age":'), delta('36}'), end])],
    exit: 14,
    stdout: '{"age":36}\n',
    says: /name/,
    error: { phase: 'result', billed: 'yes' },
  },
  {
    name: 'an answer that is not JSON although a schema was given',
    argv: () => ['--schema', '{"type":"object"}', 'Invent a person.'],
    replies: ({ delta, end }) => [sse([delta('Ada.'), end])],
    exit: 14,
    stdout: 'Ada.\n',
    says: /JSON/,
    error: { phase: 'result', billed: 'yes' },
  },
]
