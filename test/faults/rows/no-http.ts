import { end, head, readAll, write, type ServerReply } from '../../support/server-replies.ts'
import { wholeReply } from '../perform-call.ts'
import { row, type Expected, type FaultRow, type FaultVariant } from '../row.ts'
import { always, brokeOff, everywhere, gaveUp, worksAt } from './expectations.ts'

const manyHeaders = Object.fromEntries(Array.from({ length: 1800 }, (_, at) => [`x-${at}`, 'y'.repeat(80)]))

/** The same at each attempt: it is asked once, but while a job is waited for. */
const unreadable = (
  name: string,
  reply: ServerReply,
  { code, says }: { readonly code: string; readonly says: RegExp },
  isSampled = true,
): FaultVariant => {
  const expected: Expected = {
    exit: 8,
    says,
    error: { code, phase: 'wait', http_status: null },
    leaves: 'nothing',
  }
  return {
    name,
    ...(isSampled && { isSampled }),
    replies: () => always(reply),
    expects: {
      ...everywhere(expected),
      poll: gaveUp,
      // Another attempt would bring the same.
      stream:
        code === 'reply_too_large'
          ? { ...expected, error: { code, billed: 'no' }, attempts: 'any' }
          : brokeOff,
      // What is fetched has been paid for, whatever comes of it.
      download: { ...expected, error: { code } },
    },
  }
}
const protocol = {
  code: 'reply_not_understood',
  says: /invalid HTTP response|cannot be read|only informational \(1xx\) responses/,
}

/** Settings, and the end of the connection (RFC 9113, sections 6.5 and 6.8). */
const http2 = Buffer.from('0000000400000000000000080700000000000000000000000001', 'hex')
/** TLS 1.2: an alert. */
const alert = Buffer.from('15030300020228', 'hex')

/** B7 to B11, and B16 to B18: what comes is no reply of HTTP/1.1. */
export const noHttp: readonly FaultRow[] = [
  row('B7', 'what answers does not speak HTTP', 'refused at once', [
    unreadable('SSH', [readAll, write('SSH-2.0-OpenSSH_9.9\r\n'), end], protocol, false),
    unreadable('a TLS alert', [readAll, write(alert), end], protocol),
  ]),
  row('B8', 'a server that speaks only HTTP/2', 'refused at once', [
    unreadable('its first frames', [readAll, write(http2), end], protocol),
  ]),
  row('B9', 'headers of more than 128 KiB', 'refused at once', [
    unreadable('one long header', [readAll, write(head(200, { 'x-long': 'x'.repeat(140_000) })), end], {
      code: 'reply_too_large',
      says: /The headers of the reply are larger than 128 KiB/,
    }),
    unreadable('many short headers', [readAll, write(head(200, manyHeaders)), end], {
      code: 'reply_too_large',
      says: /The headers of the reply are larger than 128 KiB/,
    }),
  ]),
  row(
    'B10',
    'two lengths, or a length and chunks',
    'refused at once, as a way to smuggle a second reply in',
    [
      unreadable(
        'two lengths',
        [readAll, write(`${head(200, { 'content-length': '2\r\ncontent-length: 3' })}{} `), end],
        protocol,
        false,
      ),
      unreadable(
        'a length and chunks',
        [
          readAll,
          write(
            `${head(200, { 'content-length': '2', 'transfer-encoding': 'chunked' })}2\r\n{}\r\n0\r\n\r\n`,
          ),
          end,
        ],
        protocol,
      ),
    ],
  ),
  row('B11', 'informational replies without end', 'at most 100 are read', [
    unreadable('103', [readAll, write(head(103, { link: '<a>' }).repeat(2_000)), end], protocol),
    unreadable('100', [readAll, write(head(100).repeat(2_000)), end], protocol),
  ]),
  row('B16', 'HTTP/2: GOAWAY, REFUSED_STREAM', 'cannot occur', [], 'only HTTP/1.1 is spoken'),
  row('B17', 'HTTP/2: RST_STREAM after the headers', 'cannot occur', [], 'only HTTP/1.1 is spoken'),
  row(
    'B18',
    'a second reply that nobody asked for',
    'left unread: the next request has a connection of its own',
    [
      {
        name: 'right behind the first',
        replies: ({ reply }) => {
          const other = `${head(200, { 'content-length': '2' })}{}`
          return [wholeReply(reply).flatMap((step) => (step === end ? [write(other), end] : [step]))]
        },
        expects: everywhere(worksAt(1)),
      },
    ],
  ),
]
