import {
  closeDelimited,
  end,
  flood,
  head,
  readAll,
  reset,
  sse,
  stall,
  text,
  write,
  type ServerReply,
} from '../../support/server-replies.ts'
import type { Scenario } from '../scenario.ts'
import type { TextStyle } from '../text-styles.ts'

const facts = { billed: 'maybe', retry_after_s: null } as const
const beforeHeaders = { ...facts, phase: 'wait', http_status: null, request_id: null } as const

/** Whole words, then an event of which only a part comes: half of it, or all up to the middle of a character. */
const begun = ({ delta }: TextStyle) => {
  const last = Buffer.from(delta('né'))
  const middleOfCharacter = last.indexOf('é') + 1
  return {
    halfEvent: [delta('Hello, '), last.subarray(0, 20)],
    halfCharacter: [delta('Hello, '), last.subarray(0, middleOfCharacter)],
  }
}

const persisting = (status: number): Scenario => {
  const failed = text('It broke.', { status, headers: { 'x-request-id': 'req_7' } })
  return {
    name: `HTTP ${status} that goes on`,
    replies: () => [failed, failed, failed],
    waits: [375, 750],
    exit: 7,
    says: /may have done the work anyway \(HTTP 50\d\): It broke\./,
    error: { ...facts, code: `http_${status}`, phase: 'reply', http_status: status, request_id: 'req_7' },
  }
}

const truncated = (name: string, replies: Scenario['replies'], stdout = 'Hello, \n'): Scenario => ({
  name,
  replies,
  exit: 7,
  stdout,
  says: /before the answer was complete|cut off in the middle/,
  error: { ...facts, code: 'stream_truncated', phase: 'stream' },
})

const signsOfLife = (first: string): ServerReply => [
  readAll,
  write(head(200, { 'content-type': 'text/event-stream' })),
  write(first),
  flood(': ping\n\n'.repeat(8_000)),
]

/** Exit code 7: the request was handed over, and nobody knows what became of it. Never asked again by itself. */
export const lostReplies: readonly Scenario[] = [
  {
    name: 'an answer that goes on after an unspecified finish reason, and has no end',
    only: 'generate',
    replies: ({ delta }) => {
      const candidate = { content: { parts: [{ text: 'Hel' }] }, finishReason: 'FINISH_REASON_UNSPECIFIED' }
      return [sse([`data: ${JSON.stringify({ candidates: [candidate] })}\n\n`, delta('lo')])]
    },
    exit: 7,
    stdout: 'Hello\n',
    says: /before the answer was complete/,
    error: { billed: 'maybe' },
  },
  {
    name: 'a connection that breaks after an unspecified finish reason',
    only: 'generate',
    replies: () => {
      const candidate = { content: { parts: [{ text: 'Hel' }] }, finishReason: 'FINISH_REASON_UNSPECIFIED' }
      return [sse([`data: ${JSON.stringify({ candidates: [candidate] })}\n\n`], { ending: 'reset' })]
    },
    exit: 7,
    stdout: 'Hel\n',
    says: /before the answer was complete/,
    error: { billed: 'maybe' },
  },
  {
    name: 'reset before the headers',
    replies: () => [[readAll, reset]],
    exit: 7,
    says: /closed the connection/,
    error: { ...beforeHeaders, code: 'outcome_reset' },
  },
  {
    name: 'closed before the headers',
    replies: () => [[readAll, end]],
    exit: 7,
    says: /closed the connection/,
    error: { ...beforeHeaders, code: 'outcome_reset' },
  },
  {
    name: 'closed in the middle of the headers',
    replies: () => [[readAll, write('HTTP/1.1 200 OK\r\ncontent-'), end]],
    exit: 7,
    says: /closed the connection/,
    error: { ...beforeHeaders, code: 'outcome_reset' },
  },
  truncated('reset after the headers', () => [sse([], { ending: 'reset' })], ''),
  truncated('reset between two events', ({ delta }) => [sse([delta('Hello, ')], { ending: 'reset' })]),
  truncated('reset in the middle of an event', (style) => [sse(begun(style).halfEvent, { ending: 'reset' })]),
  truncated('reset in the middle of a character', (style) => [
    sse(begun(style).halfCharacter, { ending: 'reset' }),
  ]),
  truncated('closed between two events', ({ delta }) => [sse([delta('Hello, ')], { ending: 'cut' })]),
  truncated('an orderly end in the middle of an event', (style) => [sse(begun(style).halfEvent)]),
  truncated('an orderly end in the middle of a character', (style) => [
    closeDelimited(begun(style).halfCharacter),
  ]),
  truncated('an orderly end before the last event', ({ delta }) => [sse([delta('Hello, ')])]),
  {
    name: 'silence instead of the headers',
    replies: () => [[readAll, stall]],
    async meanwhile({ clock, until }, { requests }) {
      await until(() => requests[0]?.complete === true && clock.asked.includes(120_000))
      await clock.advance(120_000)
    },
    exit: 7,
    says: /No reply from \S+ within 120 s/,
    error: { ...beforeHeaders, code: 'outcome_timeout' },
  },
  {
    name: 'silence in the middle of the stream',
    replies: ({ delta }) => [sse([delta('Hello, ')], { ending: 'stall' })],
    async meanwhile({ context, clock, until }, _, asJson) {
      await until(() => clock.asked.includes(300_000) && (asJson || context.stdout.text !== ''))
      await clock.advance(60_000)
    },
    exit: 7,
    stdout: 'Hello, \n',
    says: /sent no more data for 60 s/,
    error: { ...facts, code: 'outcome_timeout', phase: 'stream' },
  },
  {
    name: 'nothing but keep-alives',
    argv: () => ['--idle-timeout', '10000', 'Say hello.'],
    replies: ({ delta }) => [signsOfLife(delta('Hello, '))],
    async meanwhile({ clock, until }, server) {
      // More than the system keeps between the two: so the program has seen the words, then keep-alives alone.
      await until(() => server.taken > 12_000_000)
      await clock.advance(200_000)
      await until(() => server.taken > 24_000_000)
      await clock.advance(100_000)
    },
    exit: 7,
    stdout: 'Hello, \n',
    says: /The reply made no progress for 300 s\./,
    error: { ...facts, code: 'stream_stalled', phase: 'stream' },
  },
  {
    name: 'an answer that takes longer than --timeout allows',
    argv: () => ['--timeout', '42', 'Say hello.'],
    replies: ({ delta }) => [sse([delta('Hello, ')], { ending: 'stall' })],
    async meanwhile({ context, clock, until }, _, asJson) {
      await until(() => clock.asked.includes(300_000) && (asJson || context.stdout.text !== ''))
      await clock.advance(42_000)
    },
    exit: 7,
    stdout: 'Hello, \n',
    says: /The request took longer than 42 s \(--timeout\)\./,
    error: { ...facts, code: 'outcome_deadline', phase: 'stream' },
  },
  ...[500, 502, 504].map(persisting),
]
