import { json, sse, text, type ServerReply } from '../../support/server-replies.ts'
import type { Scenario } from '../scenario.ts'
import type { TextStyle } from '../text-styles.ts'

const busy = (headers: Readonly<Record<string, string>> = {}, status = 429): ServerReply =>
  text('Busy.', { status, headers })
const hello = ({ delta, end }: TextStyle): ServerReply => sse([delta('Hello.'), end])

/** google.rpc.RetryInfo, in the body of a reply that has no `Retry-After`. */
const retryInfo = (retryDelay: string) =>
  json(
    {
      error: {
        code: 429,
        message: 'Slow down.',
        status: 'RESOURCE_EXHAUSTED',
        details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }],
      },
    },
    { status: 429 },
  )

/** A date counts from the reply's own clock, here a day ahead of ours. */
const inSevenSeconds = {
  date: 'Fri, 02 Jan 2026 00:00:00 GMT',
  'retry-after': 'Fri, 02 Jan 2026 00:00:07 GMT',
}

/** The wait that a first busy reply leads to, before the answer comes. */
const recovering = (name: string, first: ServerReply, wait: number): Scenario => ({
  name: `${name}, then the answer`,
  replies: (style) => [first, hello(style)],
  waits: [wait],
  exit: 0,
  stdout: 'Hello.\n',
  adds: `retry in ${Math.round(wait / 100) / 10} s (2 left)`,
})

/** The same reply again and again: two more attempts, each after a wait, and no more. */
const persisting = (status: number): Scenario => ({
  name: `HTTP ${status} that goes on`,
  replies: () => [busy({}, status), busy({}, status), busy({ 'retry-after': '9' }, status)],
  waits: [375, 750],
  exit: 5,
  says: /The gateway cannot answer now \(HTTP \d{3}\): Busy\./,
  error: { code: `http_${status}`, phase: 'reply', billed: 'no', http_status: status, retry_after_s: 9 },
})

/** Exit code 5, and how it is avoided. */
export const tryLater: readonly Scenario[] = [
  recovering('HTTP 429 with seconds', busy({ 'retry-after': '2' }), 2_000),
  recovering('HTTP 429 with no wait at all', busy({ 'retry-after': '0' }), 0),
  recovering('HTTP 429 with a date', busy(inSevenSeconds), 7_000),
  recovering(
    'HTTP 429 with milliseconds, which count before seconds',
    busy({ 'retry-after-ms': '1500', 'retry-after': '9' }),
    1_500,
  ),
  recovering('HTTP 429 with RetryInfo in the body', retryInfo('48.9s'), 48_900),
  recovering('HTTP 429 with the longest wait', busy({ 'retry-after': '119' }), 119_000),
  recovering('HTTP 429 with nonsense for a wait', busy({ 'retry-after': 'soon' }), 375),
  recovering('HTTP 429 without a wait', busy(), 375),
  recovering('HTTP 503', busy({}, 503), 375),
  recovering('HTTP 500', busy({}, 500), 375),
  {
    name: 'HTTP 429 and 503, then the answer',
    replies: (style) => [busy({ 'retry-after': '2' }), busy({}, 503), hello(style)],
    waits: [2_000, 750],
    exit: 0,
    stdout: 'Hello.\n',
  },
  ...[429, 503, 529, 408, 425].map(persisting),
  {
    name: 'HTTP 429 that asks for a day',
    replies: () => [busy({ 'retry-after': '86400' })],
    exit: 5,
    says: /The gateway cannot answer now \(HTTP 429\): Busy\./,
    error: { code: 'http_429', phase: 'reply', billed: 'no', http_status: 429, retry_after_s: 86_400 },
    adds: 'asks to wait 86400 s, longer than the 120 s',
  },
  {
    name: 'HTTP 429 with RetryInfo of an hour',
    replies: () => [retryInfo('3600s')],
    exit: 5,
    says: /Slow down\./,
    error: { code: 'resource_exhausted', billed: 'no', http_status: 429, retry_after_s: 3_600 },
  },
  {
    name: 'HTTP 429 without leave to ask again',
    argv: () => ['--retry', 'never', 'Hi'],
    replies: () => [busy({ 'retry-after': '2' })],
    exit: 5,
    says: /The gateway cannot answer now \(HTTP 429\): Busy\./,
    error: { code: 'http_429', billed: 'no', http_status: 429, retry_after_s: 2 },
  },
  {
    name: 'HTTP 503 from a gateway that does not want to be asked again',
    replies: () => [busy({ 'x-should-retry': 'false' }, 503)],
    exit: 5,
    says: /The gateway cannot answer now \(HTTP 503\): Busy\./,
    error: { code: 'http_503', billed: 'no', http_status: 503 },
  },
]
