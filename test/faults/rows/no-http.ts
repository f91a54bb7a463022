import { end, head, readAll, write, type ServerReply } from '../../support/server-replies.ts'
import { wholeReply } from '../perform-call.ts'
import type { Expected, FaultRow, FaultVariant } from '../row.ts'
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
      stream: brokeOff,
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
  {
    id: 'B7',
    fault: 'what answers does not speak HTTP',
    happens: 'refused at once',
    tried: [
      unreadable('SSH', [readAll, write('SSH-2.0-OpenSSH_9.9\r\n'), end], protocol, false),
      unreadable('a TLS alert', [readAll, write(alert), end], protocol),
    ],
  },
  {
    id: 'B8',
    fault: 'a server that speaks only HTTP/2',
    happens: 'refused at once',
    tried: [unreadable('its first frames', [readAll, write(http2), end], protocol)],
  },
  {
    id: 'B9',
    fault: 'headers of more than 128 KiB',
    happens: 'refused at once',
    tried: [
      unreadable('one long header', [readAll, write(head(200, { 'x-long': 'x'.repeat(140_000) })), end], {
        code: 'reply_too_large',
        says: /The headers of the reply are larger than 128 KiB/,
      }),
      unreadable('many short headers', [readAll, write(head(200, manyHeaders)), end], {
        code: 'reply_too_large',
        says: /The headers of the reply are larger than 128 KiB/,
      }),
    ],
  },
  {
    id: 'B10',
    fault: 'two lengths, or a length and chunks',
    happens: 'refused at once, as a way to smuggle a second reply in',
    tried: [
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
  },
  {
    id: 'B11',
    fault: 'informational replies without end',
    happens: 'at most 100 are read',
    tried: [
      unreadable('103', [readAll, write(head(103, { link: '<a>' }).repeat(2_000)), end], protocol),
      unreadable('100', [readAll, write(head(100).repeat(2_000)), end], protocol),
    ],
  },
  {
    id: 'B16',
    fault: 'HTTP/2: GOAWAY, REFUSED_STREAM',
    happens: 'cannot occur',
    tried: [],
    note: 'only HTTP/1.1 is spoken',
  },
  {
    id: 'B17',
    fault: 'HTTP/2: RST_STREAM after the headers',
    happens: 'cannot occur',
    tried: [],
    note: 'only HTTP/1.1 is spoken',
  },
  {
    id: 'B18',
    fault: 'a second reply that nobody asked for',
    happens: 'left unread: the next request has a connection of its own',
    tried: [
      {
        name: 'right behind the first',
        replies: ({ reply }) => {
          const other = `${head(200, { 'content-length': '2' })}{}`
          return [wholeReply(reply).flatMap((step) => (step === end ? [write(other), end] : [step]))]
        },
        expects: everywhere(worksAt(1)),
      },
    ],
  },
]
