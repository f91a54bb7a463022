import { json, text, type ServerReply } from '../../support/server-replies.ts'
import { wholeReply } from '../perform-call.ts'
import { row, type Expected, type FaultRow, type FaultVariant } from '../row.ts'
import { always, brokeOff, everywhere, gaveUp, worksAt } from './expectations.ts'

const redirect = (status: number, location: string): ServerReply =>
  text('', { status, headers: { location } })

const refused = (status: number, says: RegExp): Expected => ({
  exit: 8,
  says,
  error: { code: 'reply_not_understood', http_status: status },
  leaves: 'nothing',
})

/** A request that creates something is not sent to another address. */
const notFollowed = (status: number, location: string, says: RegExp, isSampled = true): FaultVariant => ({
  name: `HTTP ${status} to ${location}`,
  ...(isSampled && { isSampled }),
  replies: () => always(redirect(status, location)),
  expects: { text: refused(status, says), creation: refused(status, says) },
})

const busy = (headers: Readonly<Record<string, string>>): ServerReply =>
  text('Busy.', { status: 429, headers })

/** Obeyed by single commands; a wait for a job has its own pauses. */
const waits = (name: string, reply: ServerReply, waitMs: number, isSampled = true): FaultVariant => ({
  name,
  ...(isSampled && { isSampled }),
  where: ({ argv }, { role }) => argv[0] !== 'run' && role !== 'poll' && role !== 'report',
  replies: () => [reply],
  expects: everywhere(worksAt(2, [waitMs])),
})

const tooLong = (name: string, reply: ServerReply, seconds: number, isSampled = true): FaultVariant => {
  const expected: Expected = {
    exit: 5,
    says: /It asks to wait \d+ s, longer than the 120 s/,
    error: { http_status: 429, retry_after_s: seconds },
    leaves: 'nothing',
  }
  return {
    name,
    ...(isSampled && { isSampled }),
    where: ({ argv }, { role }) => argv[0] !== 'run' && role !== 'report' && role !== 'download',
    replies: () => always(reply),
    expects: {
      ...everywhere(expected),
      // Each pause is as long as is obeyed, and fifteen minutes are enough.
      poll: { ...gaveUp, says: /Looking up the job failed 9 times in a row/, attempts: 9 },
      stream: { ...brokeOff, waits: [120_000, 120_000] },
    },
  }
}

/** The reply's clock is a day ahead of ours. */
const date = 'Fri, 02 Jan 2026 00:00:00 GMT'

/** google.rpc.RetryInfo, in the body of a reply that has no `Retry-After`. */
const retryInfo = (retryDelay: string) => {
  const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }]
  return json({ error: { code: 429, message: 'Slow down.', details } }, { status: 429 })
}

/** C3 to C5, and C16 to C22: redirects, and what a gateway asks to wait. */
export const redirectsAndWaits: readonly FaultRow[] = [
  row(
    'C3',
    'a redirect on the same origin',
    'followed for what is only read, three times at most; never for a creation',
    [
      ...[301, 302, 303, 307, 308].map((status) =>
        notFollowed(
          status,
          '/v2/other',
          new RegExp(`a redirect \\(HTTP ${status}\\) to the same host`),
          status !== 307,
        ),
      ),
      {
        name: 'of what is only read',
        where: (_, { role }) => role !== 'report',
        replies: ({ asks, reply }) => [redirect(302, pathOf(asks)), wholeReply(reply)],
        expects: { 'look-up': worksAt(2), download: worksAt(2) },
      },
    ],
  ),
  row(
    'C4',
    'a redirect to another origin',
    'not followed with the key, nor for a creation; the origin is named',
    [
      notFollowed(
        307,
        'https://elsewhere.invalid/v1?a=b',
        /a redirect \(HTTP 307\) to https:\/\/elsewhere\.invalid;/,
        false,
      ),
      {
        name: 'of a look-up',
        where: (_, { role }) => role !== 'report',
        replies: () => always(redirect(302, 'https://elsewhere.invalid/v1')),
        expects: {
          'look-up': refused(302, /a redirect \(HTTP 302\) to https:\/\/elsewhere\.invalid;/),
          stream: brokeOff,
        },
      },
    ],
  ),
  row('C5', 'redirects in a circle', 'given up after three of a look-up, and five of a download', [
    {
      name: 'a circle',
      replies: ({ asks }) => always(redirect(302, pathOf(asks))),
      where: (_, { role }) => role !== 'report',
      expects: {
        'look-up': { ...refused(302, /a redirect \(HTTP 302\) to the same host/), attempts: 4 },
        stream: brokeOff,
        download: {
          exit: 8,
          says: /redirects more than 5 times/,
          attempts: 6,
          leaves: 'nothing',
        },
      },
    },
  ]),
  row('C16', '429 that asks to wait for some seconds', 'as long is waited', [
    waits('Retry-After: 2', busy({ 'retry-after': '2' }), 2_000, false),
    waits('Retry-After: 119', busy({ 'retry-after': '119' }), 119_000),
    waits('milliseconds before seconds', busy({ 'retry-after-ms': '1500', 'retry-after': '9' }), 1_500),
    waits('RetryInfo in the body', retryInfo('48.9s'), 48_900),
  ]),
  row('C17', '429 that asks to wait for no time at all', 'asked again at once', [
    waits('Retry-After: 0', busy({ 'retry-after': '0' }), 0, false),
  ]),
  row('C18', '429 with a date, while the clocks differ by a day', "counted from the reply's own date", [
    waits('a date', busy({ date, 'retry-after': 'Fri, 02 Jan 2026 00:00:07 GMT' }), 7_000, false),
  ]),
  row(
    'C19',
    '429 that asks for more than 120 s, or for nothing sensible',
    'too long: given up with the number; nonsense: the usual pauses',
    [
      tooLong('a day', busy({ 'retry-after': '86400' }), 86_400, false),
      tooLong('31,688 years', busy({ 'retry-after': '999999999999' }), 999_999_999_999),
      tooLong('an hour by RetryInfo', retryInfo('3600s'), 3_600),
      waits('less than nothing', busy({ 'retry-after': '-5' }), 375),
      waits('a word', busy({ 'retry-after': 'soon' }), 375),
      waits('a number beyond numbers', busy({ 'retry-after': '1e309' }), 375),
      waits('two headers', busy({ 'retry-after': '2\r\nretry-after: 9' }), 375),
    ],
  ),
  row('C22', '503 that asks to wait', 'as long is waited', [
    waits('Retry-After: 3', text('Busy.', { status: 503, headers: { 'retry-after': '3' } }), 3_000, false),
  ]),
]

/** The path that a pattern of request lines is for. */
function pathOf({ source }: RegExp): string {
  return source
    .replace(/^\^[A-Z]+ /, '')
    .replaceAll('\\', '')
    .trim()
}
