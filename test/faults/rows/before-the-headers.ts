import {
  deaf,
  end,
  head,
  readAll,
  readHead,
  reset,
  stall,
  text,
  write,
  type ServerReply,
} from '../../support/server-replies.ts'
import { pngBytes } from '../../support/image-bytes.ts'
import type { Call } from '../calls.ts'
import type { Trouble } from '../perform-call.ts'
import { row, type Expected, type FaultRow, type FaultVariant } from '../row.ts'
import { always, brokeOff, everywhere, gaveUp, worksAt } from './expectations.ts'

const lost: Expected = {
  exit: 7,
  says: /closed the connection/,
  error: { code: 'connection_lost', billed: 'maybe', phase: 'wait', http_status: null },
  leaves: 'nothing',
}

/** Sent whole: what is paid for is not sent again, and what is only read is. */
const lostOnce = (name: string, reply: ServerReply, isSampled = false): FaultVariant => ({
  name,
  ...(isSampled && { isSampled }),
  replies: () => [reply],
  expects: { ...everywhere(worksAt(2)), text: lost, creation: lost, stream: worksAt(2) },
})

const silent = (name: string, reply: ServerReply, isSampled = false): FaultVariant => {
  const expected: Expected = {
    exit: 7,
    says: /No reply from \S+ within (120|600) s/,
    error: { code: 'timeout', billed: 'maybe', phase: 'wait', http_status: null },
    leaves: 'nothing',
  }
  return {
    name,
    ...(isSampled && { isSampled }),
    // The time that passes is the whole program's: a lock would have to be renewed meanwhile.
    where: ({ how, argv }, { role }) => role !== 'report' && how === 'program' && argv[0] !== 'run',
    replies: () => [reply],
    trouble: () => ({ stepMs: 60_000 }),
    expects: {
      ...everywhere(worksAt(2)),
      text: expected,
      creation: expected,
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
  expects: { text: expected, creation: expected },
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
  leaves: 'nothing',
})

/** B1 to B6, and B12 to B15: while the request is sent, and before the headers of its reply. */
export const beforeTheHeaders: readonly FaultRow[] = [
  row('B1', 'a reset before the whole request has been sent', 'nothing was sent: tried again', [
    whileSending('in the body', [readHead, deaf, reset], {
      exit: 6,
      says: /Nothing was sent\./,
      error: { phase: 'send', billed: 'no', http_status: null },
      attempts: 3,
      waits: [375, 750],
      leaves: 'nothing',
    }),
  ]),
  row(
    'B2',
    'the connection ends before the headers, the request having been sent whole',
    'a creation is an unknown outcome and is not repeated; what is only read is asked for again',
    [
      lostOnce('reset', [readAll, reset]),
      lostOnce('closed', [readAll, end]),
      {
        name: 'closed, again and again',
        isSampled: true,
        replies: () => always([readAll, end]),
        expects: {
          'look-up': { exit: 5, says: /closed the connection/, attempts: 3, leaves: 'nothing' },
          poll: gaveUp,
          stream: brokeOff,
          download: { exit: 5, says: /closed the connection/, attempts: 3, leaves: 'nothing' },
        },
      },
    ],
  ),
  row('B3', 'the connection ends in the status line or in the headers', 'as before the headers', [
    lostOnce('closed in the headers', [readAll, write('HTTP/1.1 200 OK\r\ncontent-'), end]),
    lostOnce('closed in the status line', [readAll, write('HTTP/1.1 2'), end], true),
    lostOnce('reset in the headers', [readAll, write('HTTP/1.1 200 OK\r\ncontent-'), reset], true),
    lostOnce('reset in the status line', [readAll, write('HTTP/1.1 2'), reset], true),
  ]),
  row(
    'B4',
    'the server closes a connection that is used again',
    'cannot occur: each request has a connection of its own',
    [],
    'shown by test/gateway/phases.test.ts',
  ),
  row(
    'B5',
    'the server never answers',
    'the first-byte limit ends the attempt: 120 s, 600 s for what is not streamed, 60 s for a look-up',
    [silent('silence', [readAll, stall])],
  ),
  row('B6', 'the headers come byte by byte, and never end', 'the first-byte limit holds for all of them', [
    silent('a part of the headers', [readAll, write('HTTP/1.1 200 OK\r\nx-slow: '), stall], true),
  ]),
  row('B12', '100 Continue never comes, or comes unasked', 'it is not asked for, and skipped', [
    {
      name: 'unasked',
      replies: ({ reply }) => {
        const body = Buffer.concat(reply.pieces)
        const headers = { 'content-type': reply.type, 'content-length': String(body.length) }
        return [[readHead, write(head(100)), readAll, write(head(200, headers)), write(body), end]]
      },
      expects: everywhere(worksAt(1)),
    },
  ]),
  row(
    'B13',
    'the server refuses before it has read the whole request',
    'its answer counts, and the upload stops',
    [
      whileSending('413, then silence', early(413, [stall]), refused(4, 413)),
      whileSending('401, then silence', early(401, [stall]), refused(3, 401)),
      whileSending('413, then the end', early(413, [end]), refused(4, 413)),
      {
        name: '413 after the head',
        isSampled: true,
        replies: () => [[readHead, ...text('{}', { status: 413 }).slice(1)]],
        expects: { text: refused(4, 413), creation: refused(4, 413) },
      },
    ],
  ),
  row(
    'B14',
    'the server refuses and resets the connection before its answer could be read',
    'what had come of the answer counts; else nothing was sent, and it is tried again',
    [],
    'what a reset leaves of an answer is a matter of chance; both ends of it are B1 and B13',
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
          leaves: 'nothing',
        },
        { stepMs: 10_000 },
      ),
    ],
  ),
]
