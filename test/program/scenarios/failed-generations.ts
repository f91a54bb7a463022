import { json, sse } from '../../support/server-replies.ts'
import type { Scenario } from '../scenario.ts'

/** Exit codes 9 and 14: the gateway did its work, and this is what came of it; more of them in test/faults. */
export const failedGenerations: readonly Scenario[] = [
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
