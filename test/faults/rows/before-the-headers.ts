import {
  deaf,
  end,
  head,
  readAll,
  readHead,
  reset,
  stall,
  write,
  type ServerReply,
} from '../../support/server-replies.ts'
import { pngBytes } from '../../support/image-bytes.ts'
import type { Call } from '../calls.ts'
import { row, type Expected, type FaultRow, type FaultVariant } from '../row.ts'
import { wholeReply, type Trouble } from '../perform-call.ts'
import {
  always,
  atLast,
  brokeOff,
  ever,
  everywhere,
  gaveUp,
  once,
  paid,
  replyWith,
  sampled,
  worksAt,
} from './expectations.ts'

const lost: Expected = {
  exit: 7,
  says: /closed the connection/,
  error: { code: 'connection_lost', billed: 'maybe', phase: 'wait', http_status: null },
}

/** Sent whole: what is paid for is not sent again, and what is only read is. */
const lostOnce = (name: string, reply: ServerReply): FaultVariant =>
  once(name, reply, { ...everywhere(worksAt(2)), ...paid(lost), stream: worksAt(2) })

const silent = (name: string, reply: ServerReply): FaultVariant => {
  const expected: Expected = {
    exit: 7,
    says: /No reply from \S+ within (120|600) s/,
    error: { code: 'timeout', billed: 'maybe', phase: 'wait', http_status: null },
  }
  return {
    name,
    // The time that passes is the whole program's: a lock would have to be renewed meanwhile.
    where: ({ how, argv }, { role }) => role !== 'report' && how === 'program' && argv[0] !== 'run',
    replies: () => [reply],
    trouble: () => ({ stepMs: 60_000 }),
    expects: {
      ...everywhere(worksAt(2)),
      ...paid(expected),
      stream: worksAt(2),
      poll: { ...worksAt(2), attempts: 'any' },
    },
  }
}

/** More than the buffers of any system take: an attachment, or the picture to be edited. */
const longText = Buffer.alloc(24 * 1_048_576, 'no text is so long. ')
const longPicture = Buffer.concat([pngBytes({ width: 2, height: 1 }), longText])
const upload = ({ argv }: Call): Partial<Trouble> =>
  argv[0] === 'image'
    ? { files: { 'in.png': longPicture } }
    : { files: { 'long.txt': longText }, more: ['-a', 'long.txt'] }
const uploads = ({ name }: Call): boolean => ['generate', 'respond', 'image edit'].includes(name)

const whileSending = (
  name: string,
  reply: ServerReply,
  expected: Expected,
  more: Partial<Trouble> = {},
): FaultVariant => ({
  name,
  where: uploads,
  replies: () => always(reply),
  trouble: (_, call) => ({ ...upload(call), ...more }),
  expects: paid(expected),
})

const early = (status: number, ending: ServerReply): ServerReply => [
  readHead,
  write(`${head(status, { 'content-length': '2' })}{}`),
  ...ending,
]
const refused = (exit: number, status: number): Expected => ({
  exit,
  says: new RegExp(`HTTP ${status}`),
  error: { http_status: status, billed: 'no', phase: 'reply' },
})

const manyHeaders = Object.fromEntries(Array.from({ length: 1800 }, (_, at) => [`x-${at}`, 'y'.repeat(80)]))

/** The same at each attempt: it is asked once, but while a job is waited for. */
const unreadable = (
  name: string,
  reply: string | Uint8Array,
  { code, says }: { readonly code: string; readonly says: RegExp },
): FaultVariant => {
  const expected: Expected = { exit: 8, says, error: { code, phase: 'wait', http_status: null } }
  return {
    name,
    replies: () => always([readAll, write(reply), end]),
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

/** B: while the request is sent, before the headers of its reply, and what is no reply of HTTP/1.1. */
export const beforeTheHeaders: readonly FaultRow[] = [
  row('B1', 'a reset before the whole request has been sent', 'nothing was sent: tried again', [
    whileSending('in the body', [readHead, deaf, reset], {
      exit: 6,
      says: /Nothing was sent\./,
      error: { phase: 'send', billed: 'no', http_status: null },
      attempts: 3,
      waits: [375, 750],
    }),
  ]),
  row(
    'B2',
    'the connection ends before the headers, the request having been sent whole',
    'a creation is an unknown outcome and is not repeated; what is only read is asked for again',
    [
      lostOnce('reset', [readAll, reset]),
      lostOnce('closed', [readAll, end]),
      ...sampled(
        ever('closed, again and again', [readAll, end], {
          'look-up': { exit: 5, says: /closed the connection/, attempts: 3 },
          ...atLast,
          download: { exit: 5, says: /closed the connection/, attempts: 3 },
        }),
      ),
    ],
  ),
  row('B3', 'the connection ends in the status line or in the headers', 'as before the headers', [
    lostOnce('closed in the headers', [readAll, write('HTTP/1.1 200 OK\r\ncontent-'), end]),
    ...sampled(lostOnce('reset in the status line', [readAll, write('HTTP/1.1 2'), reset])),
  ]),
  row(
    'B4',
    'the server closes a connection that is used again',
    'cannot occur: each request has a connection of its own',
  ),
  row(
    'B5',
    'the server never answers',
    'the first-byte limit ends the attempt: 120 s, 600 s for what is not streamed, 60 s for a look-up',
    [silent('silence', [readAll, stall])],
  ),
  row('B6', 'the headers come byte by byte, and never end', 'the first-byte limit holds for all of them', [
    ...sampled(silent('a part of the headers', [readAll, write('HTTP/1.1 200 OK\r\nx-slow: '), stall])),
  ]),
  row('B12', '100 Continue never comes, or comes unasked', 'it is not asked for, and skipped', [
    once(
      'unasked',
      (exchange) => [readHead, write(head(100)), ...replyWith(exchange, {})],
      everywhere(worksAt(1)),
    ),
  ]),
  row(
    'B13',
    'the server refuses before it has read the whole request',
    'its answer counts, and the upload stops',
    [
      whileSending('413, then silence', early(413, [stall]), refused(4, 413)),
      whileSending('401, then silence', early(401, [stall]), refused(3, 401)),
    ],
  ),
  row(
    'B14',
    'the server refuses and resets the connection before its answer could be read',
    'what had come of the answer counts; else nothing was sent, and it is tried again',
  ),
  row(
    'B15',
    'the server takes no more of the request',
    'the idle limit of 60 s ends the attempt; nothing was sent: tried again',
    [
      whileSending(
        'nothing is taken',
        [readHead, deaf, stall],
        {
          exit: 6,
          says: /Nothing was sent\./,
          error: { code: 'not_sent', phase: 'send', billed: 'no' },
          attempts: 3,
        },
        { stepMs: 10_000 },
      ),
    ],
  ),
  row('B7', 'what answers does not speak HTTP', 'refused at once', [
    unreadable('SSH', 'SSH-2.0-OpenSSH_9.9\r\n', protocol),
  ]),
  row('B8', 'a server that speaks only HTTP/2', 'refused at once', [
    ...sampled(unreadable('its first frames', http2, protocol)),
  ]),
  row('B9', 'headers of more than 128 KiB', 'refused at once', [
    ...sampled(
      unreadable('many short headers', head(200, manyHeaders), {
        code: 'reply_too_large',
        says: /The headers of the reply are larger than 128 KiB/,
      }),
    ),
  ]),
  row(
    'B10',
    'two lengths, or a length and chunks',
    'refused at once, as a way to smuggle a second reply in',
    [
      unreadable('two lengths', `${head(200, { 'content-length': '2\r\ncontent-length: 3' })}{} `, protocol),
      ...sampled(
        unreadable(
          'a length and chunks',
          `${head(200, { 'content-length': '2', 'transfer-encoding': 'chunked' })}2\r\n{}\r\n0\r\n\r\n`,
          protocol,
        ),
      ),
    ],
  ),
  row('B11', 'informational replies without end', 'at most 100 are read', [
    ...sampled(unreadable('103', head(103, { link: '<a>' }).repeat(2_000), protocol)),
  ]),
  row('B16', 'HTTP/2: GOAWAY, REFUSED_STREAM', 'cannot occur'),
  row('B17', 'HTTP/2: RST_STREAM after the headers', 'cannot occur'),
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
