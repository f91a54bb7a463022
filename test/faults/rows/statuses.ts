import { json, text, type ServerReply } from '../../support/server-replies.ts'
import type { Call } from '../calls.ts'
import { row, type Expected, type FaultRow, type FaultVariant } from '../row.ts'
import { wholeReply } from '../perform-call.ts'
import {
  always,
  atLast,
  brokeOff,
  ever,
  everywhere,
  gaveUp,
  isNoReport,
  lasting,
  once,
  paid,
  sampled,
  worksAt,
} from './expectations.ts'

/** Whether the job was created by the call itself. */
const isNew = (call: Call) => call.exchanges[0]?.role === 'creation'

/** An error in the words of both public APIs. */
const refusal = (status: number, message = 'Not like this.', code?: string): ServerReply =>
  json({ error: { code: code ?? status, message } }, { status, headers: { 'x-request-id': 'req_7' } })

const facts = (status: number) => ({ http_status: status, billed: 'no', phase: 'reply' }) as const

/** It was looked up three times more. */
const neverFound: Expected = {
  exit: 4,
  says: /The gateway has no status of the operation/,
  error: { http_status: 404 },
  attempts: 4,
}

/** The gateway says no, and would say it again. */
const final = (exit: number, status: number, more: Partial<Expected> = {}): Expected => ({
  exit,
  says: new RegExp(`HTTP ${status}`),
  error: facts(status),
  ...more,
})

/** The same at every exchange but downloads, whose address may have expired, and streams of what goes on anyway. */
const everyRequest = (expected: Expected): FaultVariant['expects'] => {
  const ofJob = { ...expected, error: { http_status: expected.error?.http_status ?? null } }
  // Without a stream the response is looked up, and this gateway knows none then.
  const stream: Expected =
    expected.exit === 4
      ? { exit: 4, says: /The gateway knows no response resp_1/, attempts: 'any' }
      : { ...ofJob, attempts: 'any' }
  return { ...paid(expected), 'look-up': ofJob, stream }
}

const rejected = (status: number): FaultVariant =>
  ever(`HTTP ${status}`, refusal(status), everyRequest(final(4, status)))

/** Refused before anything was done: asked again by all, and given up with 5. */
const busy = (status: number): FaultVariant => {
  const expected = final(5, status, {
    says: new RegExp(`The gateway cannot answer now \\(HTTP ${status}\\)`),
    attempts: 3,
    waits: [375, 750],
  })
  return lasting(`HTTP ${status}, again and again`, refusal(status), {
    ...paid(expected),
    'look-up': { ...expected, error: { http_status: status } },
    ...atLast,
  })
}
const busyOnce = (status: number): FaultVariant =>
  once(`HTTP ${status}, once`, refusal(status), everywhere(worksAt(2)))

/** Failed, and nobody knows whether the work was done. */
const failed = (status: number): FaultVariant => {
  const lost = final(7, status, {
    says: new RegExp(`may have done the work anyway \\(HTTP ${status}\\)`),
    error: { http_status: status, billed: 'maybe', phase: 'reply' },
  })
  const read = final(5, status, { attempts: 3, attemptsOfRun: 'any', error: { http_status: status } })
  return lasting(`HTTP ${status}, again and again`, refusal(status), {
    text: { ...lost, attempts: 3, waits: [375, 750], isNotForRuns: true },
    creation: lost,
    'look-up': read,
    ...atLast,
    download: { ...read, error: {} },
  })
}
const failedOnce = (status: number): FaultVariant => {
  const works = worksAt(2)
  return once(`HTTP ${status}, once`, refusal(status), {
    text: { ...works, isNotForRuns: true },
    'look-up': works,
    download: works,
  })
}

const broken = (says: RegExp, more: Expected['error'] = {}): Expected => ({
  exit: 8,
  says,
  error: { code: 'reply_not_understood', ...more },
})

/** A reply without a word in it. */
const nothing = (name: string, reply: ServerReply): FaultVariant =>
  lasting(name, reply, {
    text: broken(/neither text nor the end|no JSON/, { billed: 'maybe' }),
    creation: broken(/no image|no JSON/, { billed: 'maybe' }),
    'look-up': broken(/no JSON/),
    ...atLast,
  })

const redirect = (status: number, location: string): ServerReply =>
  text('', { status, headers: { location } })

const notTaken = (status: number, says: RegExp): Expected => broken(says, { http_status: status })

/** A request that creates something is not sent to another address. */
const notFollowed = (status: number, location: string, says: RegExp): FaultVariant =>
  ever(`HTTP ${status} to ${location}`, redirect(status, location), paid(notTaken(status, says)))

const slowDown = (headers: Readonly<Record<string, string>>): ServerReply =>
  text('Busy.', { status: 429, headers })

/** Obeyed by single commands; a wait for a job has its own pauses. */
const waits = (name: string, reply: ServerReply, waitMs: number): FaultVariant =>
  once(
    name,
    reply,
    everywhere(worksAt(2, [waitMs])),
    ({ argv }, { role }) => argv[0] !== 'run' && role !== 'poll' && role !== 'report',
  )

const tooLong = (name: string, reply: ServerReply, seconds: number): FaultVariant => {
  const expected: Expected = {
    exit: 5,
    says: /It asks to wait \d+ s, longer than the 120 s/,
    error: { http_status: 429, retry_after_s: seconds },
  }
  return {
    name,
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

/** C1 to C24: statuses, redirects, and what a gateway asks to wait. */
export const statuses: readonly FaultRow[] = [
  row('C1', '204 in place of an answer', 'refused; what was asked for may have been billed', [
    {
      ...nothing('HTTP 204', text('', { status: 204 })),
      expects: {
        ...nothing('', []).expects,
        download: broken(/HTTP 204 and no content/),
      },
    },
  ]),
  row('C2', '200 and an empty body', 'refused; what was asked for may have been billed', [
    nothing('no body', text('')),
  ]),
  row('C6', '304, though no earlier answer was named', 'refused', [
    lasting('HTTP 304', text('', { status: 304 }), {
      ...everywhere(broken(/HTTP 304/)),
      stream: brokeOff,
    }),
  ]),
  row('C7', '400 because the prompt is too long', "the gateway's words; not repeated", [
    once(
      'context_length_exceeded',
      refusal(400, 'Your input exceeds the context window.', 'context_length_exceeded'),
      paid(final(4, 400, { says: /\(HTTP 400\): Your input exceeds the context window\./ })),
    ),
  ]),
  row(
    'C8',
    '401, 403',
    'the key is refused; not repeated',
    [401, 403].map((status) =>
      ever(
        `HTTP ${status}`,
        refusal(status),
        everyRequest(final(3, status, { says: /The gateway refused the key/ })),
      ),
    ),
  ),
  row('C9', '402', 'rejected; not repeated', [rejected(402)]),
  row('C10', '404 for a path or a model', 'rejected, with a hint at the model and the base URL', [
    once('HTTP 404', refusal(404, 'Not found.'), paid(final(4, 404))),
    ...sampled({
      name: 'a base URL that ends in /v1',
      where: isNoReport,
      trouble: () => ({ baseUrl: ({ url }) => `${url}/v1/` }),
      expects: everywhere(worksAt(1)),
    }),
  ]),
  row('C11', '404 for a job that was just created', 'looked up again for ten seconds', [
    once('once', text('{}', { status: 404 }), { poll: worksAt(2) }, isNew),
    ever('for ever', text('{}', { status: 404 }), { poll: neverFound }, isNew),
  ]),
  row('C12', '405, 415, 422', 'rejected; not repeated', [
    rejected(422),
    ...sampled(rejected(415), rejected(405)),
  ]),
  row('C13', '408, 425', 'refused before any work: repeated, unless `x-should-retry` forbids it', [
    busyOnce(408),
    ...sampled(busy(408), busyOnce(425)),
    ever(
      'with x-should-retry: false',
      text('{}', { status: 408, headers: { 'x-should-retry': 'false' } }),
      paid(final(5, 408)),
    ),
  ]),
  row('C14', '409', 'rejected; not repeated, unless `x-should-retry` asks for it', [
    rejected(409),
    {
      name: 'with x-should-retry: true',
      replies: () => [text('{}', { status: 409, headers: { 'x-should-retry': 'true' } })],
      // A response whose stream is rejected is looked up instead.
      where: (_, { role }) => role !== 'stream',
      expects: everywhere(worksAt(2)),
    },
  ]),
  row('C15', '413', 'rejected, with a hint at what could be smaller; not repeated', [rejected(413)]),
  row('C20', '429 because the quota is spent', 'rejected; not repeated', [
    ever(
      'insufficient_quota',
      refusal(429, 'You exceeded your quota.', 'insufficient_quota'),
      everyRequest(final(4, 429, { says: /You exceeded your quota\./ })),
      (_, { role }) => role !== 'poll' && role !== 'stream' && role !== 'report',
    ),
  ]),
  row('C21', '500, 502, 504', 'text and reads are repeated; a creation is an unknown outcome', [
    failedOnce(500),
    failed(500),
    ...sampled(failedOnce(502), failed(502), failedOnce(504), failed(504)),
    once(
      'with x-should-retry: true',
      text('{}', { status: 500, headers: { 'x-should-retry': 'true' } }),
      paid({ ...worksAt(2), isNotForRuns: true }),
    ),
  ]),
  row(
    'C23',
    '529, and 520 to 524 of a network in front of the gateway',
    '522 and 529 as 503, the others as 502',
    sampled(busyOnce(529), busy(529), busy(522), ...[520, 521, 523, 524].map(failed)),
  ),
  row(
    'C24',
    'a status that does not exist',
    'refused',
    [600, 999].map((status) =>
      lasting(`HTTP ${status}`, text('', { status }), {
        ...everywhere(broken(new RegExp(`HTTP ${status}`), { http_status: status })),
        ...atLast,
      }),
    ),
  ),
  row(
    'C3',
    'a redirect on the same origin',
    'followed for what is only read, three times at most; never for a creation',
    [
      ...[307, 303].flatMap((status) => {
        const says = new RegExp(`a redirect \\(HTTP ${status}\\) to the same host`)
        const variant = notFollowed(status, '/v2/other', says)
        return status === 307 ? [variant] : sampled(variant)
      }),
      {
        name: 'of what is only read',
        where: isNoReport,
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
      ),
      lasting('of a look-up', redirect(302, 'https://elsewhere.invalid/v1'), {
        'look-up': notTaken(302, /a redirect \(HTTP 302\) to https:\/\/elsewhere\.invalid;/),
        stream: brokeOff,
      }),
    ],
  ),
  row('C5', 'redirects in a circle', 'given up after three of a look-up, and five of a download', [
    lasting('a circle', ({ asks }) => redirect(302, pathOf(asks)), {
      'look-up': { ...notTaken(302, /a redirect \(HTTP 302\) to the same host/), attempts: 4 },
      stream: brokeOff,
      download: { exit: 8, says: /redirects more than 5 times/, attempts: 6 },
    }),
  ]),
  row('C16', '429 that asks to wait for some seconds', 'as long is waited', [
    waits('Retry-After: 2', slowDown({ 'retry-after': '2' }), 2_000),
    ...sampled(waits('RetryInfo in the body', retryInfo('48.9s'), 48_900)),
  ]),
  row('C17', '429 that asks to wait for no time at all', 'asked again at once', [
    waits('Retry-After: 0', slowDown({ 'retry-after': '0' }), 0),
  ]),
  row('C18', '429 with a date, while the clocks differ by a day', "counted from the reply's own date", [
    waits('a date', slowDown({ date, 'retry-after': 'Fri, 02 Jan 2026 00:00:07 GMT' }), 7_000),
  ]),
  row(
    'C19',
    '429 that asks for more than 120 s, or for nothing sensible',
    'too long: given up with the number; nonsense: the usual pauses',
    [
      tooLong('a day', slowDown({ 'retry-after': '86400' }), 86_400),
      ...sampled(
        tooLong('an hour by RetryInfo', retryInfo('3600s'), 3_600),
        waits('a word', slowDown({ 'retry-after': 'soon' }), 375),
      ),
    ],
  ),
  row('C22', '503 that asks to wait', 'as long is waited', [
    waits('Retry-After: 3', text('Busy.', { status: 503, headers: { 'retry-after': '3' } }), 3_000),
  ]),
]

/** The path that a pattern of request lines is for. */
function pathOf({ source }: RegExp): string {
  return source
    .replace(/^\^[A-Z]+ /, '')
    .replaceAll('\\', '')
    .trim()
}
