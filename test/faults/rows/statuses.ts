import { json, text, type ServerReply } from '../../support/server-replies.ts'
import type { Call } from '../calls.ts'
import { row, type Expected, type FaultRow, type FaultVariant } from '../row.ts'
import { always, brokeOff, everywhere, gaveUp, isToldToRun, worksAt } from './expectations.ts'

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
  leaves: 'nothing',
}

/** The gateway says no, and would say it again. */
const final = (exit: number, status: number, more: Partial<Expected> = {}): Expected => ({
  exit,
  says: new RegExp(`HTTP ${status}`),
  error: facts(status),
  leaves: 'nothing',
  ...more,
})

/** The same at every exchange but downloads, whose address may have expired, and streams of what goes on anyway. */
const everyRequest = (expected: Expected): FaultVariant['expects'] => {
  const { text: same } = everywhere(expected)
  const ofJob = { ...expected, error: { http_status: expected.error?.http_status ?? null } }
  // Without a stream the response is looked up, and this gateway knows none then.
  const stream: Expected =
    expected.exit === 4
      ? { exit: 4, says: /The gateway knows no response resp_1/, attempts: 'any', leaves: 'nothing' }
      : { ...ofJob, attempts: 'any' }
  return { text: same!, creation: same!, 'look-up': ofJob, stream }
}

const rejected = (status: number, isSampled = false, reply = refusal(status)): FaultVariant => ({
  name: `HTTP ${status}`,
  ...(isSampled && { isSampled }),
  replies: () => always(reply),
  expects: everyRequest(final(4, status)),
})

/** Refused before anything was done: asked again by all, and given up with 5. */
const busy = (status: number, isSampled = false): FaultVariant => {
  const expected = final(5, status, {
    says: new RegExp(`The gateway cannot answer now \\(HTTP ${status}\\)`),
    attempts: 3,
    waits: [375, 750],
  })
  return {
    name: `HTTP ${status}, again and again`,
    ...(isSampled && { isSampled }),
    where: (_, { role }) => role !== 'report',
    replies: () => always(refusal(status)),
    expects: {
      text: expected,
      creation: expected,
      'look-up': { ...expected, error: { http_status: status } },
      poll: gaveUp,
      stream: brokeOff,
    },
  }
}
const busyOnce = (status: number, isSampled = false): FaultVariant => ({
  name: `HTTP ${status}, once`,
  ...(isSampled && { isSampled }),
  where: (call, exchange) => !isToldToRun(call, exchange),
  replies: () => [refusal(status)],
  expects: everywhere(worksAt(2)),
})

/** Failed, and nobody knows whether the work was done. */
const failed = (status: number, isSampled = false): FaultVariant => {
  const lost = final(7, status, {
    says: new RegExp(`may have done the work anyway \\(HTTP ${status}\\)`),
    error: { http_status: status, billed: 'maybe', phase: 'reply' },
  })
  const read = final(5, status, { attempts: 3, attemptsOfRun: 'any', error: { http_status: status } })
  return {
    name: `HTTP ${status}, again and again`,
    ...(isSampled && { isSampled }),
    where: (_, { role }) => role !== 'report',
    replies: () => always(refusal(status)),
    expects: {
      text: { ...lost, attempts: 3, waits: [375, 750], isNotForRuns: true },
      creation: lost,
      'look-up': read,
      poll: gaveUp,
      stream: brokeOff,
      download: { ...read, error: {} },
    },
  }
}
const failedOnce = (status: number, isSampled = false): FaultVariant => {
  const works = worksAt(2)
  return {
    name: `HTTP ${status}, once`,
    ...(isSampled && { isSampled }),
    replies: () => [refusal(status)],
    expects: { text: { ...works, isNotForRuns: true }, 'look-up': works, download: works },
  }
}

const broken = (code: string, says: RegExp, more: Expected['error'] = {}): Expected => ({
  exit: 8,
  says,
  error: { code, ...more },
  leaves: 'nothing',
})

/** C1, C2, C6 to C13, C15, and C20 to C24. */
export const statuses: readonly FaultRow[] = [
  row('C1', '204 in place of an answer', 'refused; what was asked for may have been billed', [
    {
      name: 'HTTP 204',
      where: (_, { role }) => role !== 'report',
      replies: () => always(text('', { status: 204 })),
      expects: {
        text: broken('reply_not_understood', /neither text nor the end|no JSON/, { billed: 'maybe' }),
        creation: broken('reply_not_understood', /no image|no JSON/, { billed: 'maybe' }),
        'look-up': broken('reply_not_understood', /no JSON/),
        poll: gaveUp,
        stream: brokeOff,
        download: broken('reply_not_understood', /HTTP 204 and no content/),
      },
    },
  ]),
  row('C2', '200 and an empty body', 'refused; what was asked for may have been billed', [
    {
      name: 'no body',
      where: (_, { role }) => role !== 'report',
      replies: () => always(text('')),
      expects: {
        text: broken('reply_not_understood', /neither text nor the end|no JSON/, { billed: 'maybe' }),
        creation: broken('reply_not_understood', /no image|no JSON/, { billed: 'maybe' }),
        'look-up': broken('reply_not_understood', /no JSON/),
        poll: gaveUp,
        stream: brokeOff,
      },
    },
  ]),
  row('C6', '304, though no earlier answer was named', 'refused', [
    {
      name: 'HTTP 304',
      where: (_, { role }) => role !== 'report',
      replies: () => always(text('', { status: 304 })),
      expects: {
        ...everywhere(broken('reply_not_understood', /HTTP 304/)),
        poll: broken('reply_not_understood', /HTTP 304/),
        stream: brokeOff,
        download: broken('reply_not_understood', /HTTP 304/),
      },
    },
  ]),
  row('C7', '400 because the prompt is too long', "the gateway's words; not repeated", [
    {
      name: 'context_length_exceeded',
      replies: () => [refusal(400, 'Your input exceeds the context window.', 'context_length_exceeded')],
      expects: {
        text: final(4, 400, { says: /\(HTTP 400\): Your input exceeds the context window\./ }),
        creation: final(4, 400, { says: /\(HTTP 400\): Your input exceeds the context window\./ }),
      },
    },
  ]),
  row(
    'C8',
    '401, 403',
    'the key is refused; not repeated',
    [401, 403].map((status) => ({
      name: `HTTP ${status}`,
      replies: () => always(refusal(status)),
      expects: everyRequest(final(3, status, { says: /The gateway refused the key/ })),
    })),
  ),
  row('C9', '402', 'rejected; not repeated', [rejected(402)]),
  row('C10', '404 for a path or a model', 'rejected, with a hint at the model and the base URL', [
    {
      name: 'HTTP 404',
      replies: () => [refusal(404, 'Not found.')],
      expects: { text: final(4, 404), creation: final(4, 404) },
    },
    {
      name: 'a base URL that ends in /v1',
      where: (_, { role }) => role !== 'report',
      isSampled: true,
      trouble: () => ({ baseUrl: ({ url }) => `${url}/v1/` }),
      expects: everywhere(worksAt(1)),
    },
  ]),
  row(
    'C11',
    '404 for a job that was just created',
    'looked up again for ten seconds',
    [
      {
        name: 'once',
        where: isNew,
        replies: () => [text('{}', { status: 404 })],
        expects: { poll: worksAt(2) },
      },
      {
        name: 'for ever',
        where: isNew,
        replies: () => always(text('{}', { status: 404 })),
        expects: { poll: neverFound },
      },
    ],
    'of a look-up in a later call: test/program/videos/waiting.test.ts, test/program/responses/background.test.ts',
  ),
  row('C12', '405, 415, 422', 'rejected; not repeated', [
    rejected(422),
    rejected(415, true),
    rejected(405, true),
  ]),
  row('C13', '408, 425', 'refused before any work: repeated, unless `x-should-retry` forbids it', [
    busyOnce(408),
    busy(408, true),
    busyOnce(425, true),
    busy(425, true),
    {
      name: 'with x-should-retry: false',
      replies: () => always(text('{}', { status: 408, headers: { 'x-should-retry': 'false' } })),
      expects: { text: final(5, 408), creation: final(5, 408) },
    },
  ]),
  row('C14', '409', 'rejected; not repeated, unless `x-should-retry` asks for it', [
    rejected(409),
    {
      name: 'with x-should-retry: true',
      replies: () => [text('{}', { status: 409, headers: { 'x-should-retry': 'true' } })],
      // A response whose stream is rejected is looked up instead.
      where: (call, exchange) => exchange.role !== 'stream' && !isToldToRun(call, exchange),
      expects: everywhere(worksAt(2)),
    },
  ]),
  row('C15', '413', 'rejected, with a hint at what could be smaller; not repeated', [rejected(413)]),
  row('C20', '429 because the quota is spent', 'rejected; not repeated', [
    {
      name: 'insufficient_quota',
      replies: () => always(refusal(429, 'You exceeded your quota.', 'insufficient_quota')),
      expects: everyRequest(final(4, 429, { says: /You exceeded your quota\./ })),
      where: (_, { role }) => role !== 'poll' && role !== 'stream' && role !== 'report',
    },
  ]),
  row('C21', '500, 502, 504', 'text and reads are repeated; a creation is an unknown outcome', [
    failedOnce(500),
    failed(500),
    failedOnce(502, true),
    failed(502, true),
    failedOnce(504, true),
    failed(504, true),
    {
      name: 'with x-should-retry: true',
      replies: () => [text('{}', { status: 500, headers: { 'x-should-retry': 'true' } })],
      expects: {
        text: { ...worksAt(2), isNotForRuns: true },
        creation: { ...worksAt(2), isNotForRuns: true },
      },
    },
  ]),
  row(
    'C23',
    '529, and 520 to 524 of a network in front of the gateway',
    '522 and 529 as 503, the others as 502',
    [
      busyOnce(529, true),
      busy(529, true),
      busy(522, true),
      ...[520, 521, 523, 524].map((status) => failed(status, true)),
    ],
  ),
  row(
    'C24',
    'a status that does not exist',
    'refused',
    [600, 999].map((status) => ({
      name: `HTTP ${status}`,
      where: (_: unknown, { role }: { readonly role: string }) => role !== 'report',
      ...(status === 600 && { isSampled: true as const }),
      replies: () => always(text('', { status })),
      expects: {
        ...everywhere(broken('reply_not_understood', new RegExp(`HTTP ${status}`), { http_status: status })),
        poll: gaveUp,
        stream: brokeOff,
      },
    })),
  ),
]
