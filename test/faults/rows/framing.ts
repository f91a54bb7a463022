import { brotliCompressSync, gzipSync } from 'node:zlib'
import {
  chunk,
  end,
  head,
  readAll,
  reset,
  write,
  type ServerReply,
  type Step,
} from '../../support/server-replies.ts'
import type { Call } from '../calls.ts'
import type { Exchange } from '../exchanges.ts'
import { row, type Expected, type FaultRow, type FaultVariant } from '../row.ts'
import { always, brokeOff, everywhere, gaveUp, worksAt } from './expectations.ts'
import { isStream } from './spoil.ts'

const bodyOf = ({ reply }: Exchange): Buffer => Buffer.concat(reply.pieces)
const ofLength = (exchange: Exchange, length: number, body: Buffer, ending: Step): ServerReply => [
  readAll,
  write(head(200, { 'content-type': exchange.reply.type, 'content-length': String(length) })),
  write(body),
  ending,
]
const inChunks = (exchange: Exchange, ...steps: readonly Step[]): ServerReply => [
  readAll,
  write(head(200, { 'content-type': exchange.reply.type, 'transfer-encoding': 'chunked' })),
  ...steps,
]
const first = (body: Buffer): Buffer => body.subarray(0, Math.ceil(body.length / 3))

/** What is paid for is lost, whatever has come of it; what is only read is asked for again. */
const cut = (
  name: string,
  reply: (exchange: Exchange) => ServerReply,
  { where, isSampled = false }: { readonly where?: FaultVariant['where']; readonly isSampled?: boolean } = {},
): FaultVariant => {
  const lost: Expected = {
    exit: 7,
    says: /cut off|before the answer was complete|before the image was complete|closed the connection/,
    error: { billed: 'maybe' },
    leaves: 'nothing',
  }
  return {
    name,
    ...(isSampled && { isSampled: true as const }),
    where: (call, exchange) =>
      exchange.role !== 'report' && (where?.(call, exchange) ?? !keepsSomething(call, exchange)),
    replies: (exchange) => [reply(exchange)],
    expects: {
      ...everywhere(worksAt(2)),
      text: lost,
      creation: lost,
    },
  }
}

/** Of an image, and of the name of a job, the beginning is kept: see cuts.test.ts. */
const keepsSomething = (call: Call, { role, reply }: Exchange): boolean =>
  role === 'creation' || (role === 'text' && reply.type === 'text/event-stream') || call.argv[0] === 'run'

const unreadable = (
  name: string,
  reply: (exchange: Exchange) => ServerReply,
  { code, says }: { readonly code: string; readonly says: RegExp },
  isSampled = true,
): FaultVariant => {
  const expected: Expected = { exit: 8, says, error: { code }, leaves: 'nothing' }
  return {
    name,
    ...(isSampled && { isSampled }),
    where: (_, { role }) => role !== 'report',
    replies: (exchange) => always(reply(exchange)),
    expects: { ...everywhere(expected), poll: gaveUp, stream: brokeOff },
  }
}

const coded = (exchange: Exchange, coding: string, body: Buffer): ServerReply => [
  readAll,
  write(
    head(200, {
      'content-type': exchange.reply.type,
      'content-encoding': coding,
      'content-length': String(body.length),
    }),
  ),
  write(body),
  end,
]
const encoded = (
  name: string,
  coding: string,
  body: (exchange: Exchange) => Buffer,
  isSampled = true,
): FaultVariant =>
  unreadable(
    name,
    (exchange) => coded(exchange, coding, body(exchange)),
    { code: 'reply_not_understood', says: /The reply is encoded \(.*\), which was not requested\./ },
    isSampled,
  )
const bomb = gzipSync(Buffer.alloc(16 * 1_048_576))
const half = (bytes: Buffer): Buffer => bytes.subarray(0, bytes.length / 2)

/** D: how a body is framed and encoded. */
export const framing: readonly FaultRow[] = [
  row(
    'D1',
    'a body shorter than its length, and the end of the connection',
    'cut: an unknown outcome, or asked for again',
    [cut('FIN', (exchange) => ofLength(exchange, bodyOf(exchange).length, first(bodyOf(exchange)), end))],
    'behind every byte, and for images and jobs: cuts.test.ts',
  ),
  row(
    'D2',
    'a body shorter than its length, and a reset',
    'the same',
    [cut('RST', (exchange) => ofLength(exchange, bodyOf(exchange).length, first(bodyOf(exchange)), reset))],
    'behind every byte, and for images and jobs: cuts.test.ts',
  ),
  row('D3', 'more bytes than the length says', 'left unread', [
    {
      name: 'more behind',
      replies: (exchange) => {
        const body = bodyOf(exchange)
        return [ofLength(exchange, body.length, Buffer.concat([body, Buffer.from('more')]), end)]
      },
      expects: everywhere(worksAt(1)),
    },
  ]),
  row(
    'D4',
    'the connection ends between two chunks',
    'cut, even if the last event was whole; nothing is missing once the end of the answer has come',
    [
      cut('after the first', (exchange) => inChunks(exchange, write(chunk(first(bodyOf(exchange)))), end)),
      {
        name: 'behind the end of the answer',
        where: isStream,
        replies: (exchange) => [inChunks(exchange, write(chunk(bodyOf(exchange))), end)],
        expects: everywhere(worksAt(1)),
      },
    ],
  ),
  row('D5', 'the connection ends within a chunk', 'the same', [
    cut('FIN', (exchange) => inChunks(exchange, write('fff\r\n'), write(first(bodyOf(exchange))), end)),
    cut('RST', (exchange) => inChunks(exchange, write('fff\r\n'), write(first(bodyOf(exchange))), reset), {
      isSampled: true,
    }),
  ]),
  row('D6', 'a chunk whose size is no number', 'refused', [
    unreadable(
      'the first one',
      (exchange) => inChunks(exchange, write('zz\r\n{}\r\n'), end),
      { code: 'reply_not_understood', says: /invalid HTTP response|cannot be read/ },
      false,
    ),
  ]),
  row(
    'D7',
    'a body that lasts until the connection ends, and is cut',
    'only the end of the answer counts; a file must be whole by its container',
    [
      cut('in the middle', ({ reply }) => [
        readAll,
        write(head(200, { 'content-type': reply.type })),
        write(first(Buffer.concat(reply.pieces))),
        end,
      ]),
    ],
  ),
  row('D8', 'gzip or brotli, and a part is missing', 'refused like any encoding: none was asked for', [
    encoded('half of gzip', 'gzip', (exchange) => half(gzipSync(bodyOf(exchange))), false),
    encoded('gzip without its checksum', 'gzip', (exchange) => gzipSync(bodyOf(exchange)).subarray(0, -8)),
    encoded('half of brotli', 'br', (exchange) => half(brotliCompressSync(bodyOf(exchange)))),
  ]),
  row('D9', 'gzip by name only', 'refused', [encoded('a plain body', 'gzip', bodyOf)]),
  row('D10', 'an unknown encoding', 'refused', [encoded('x-odd', 'x-odd', bodyOf, false)]),
  row('D11', 'many encodings, one in the other', 'refused', [
    encoded('six', 'gzip, gzip, gzip, gzip, gzip, gzip', bodyOf),
  ]),
  row('D12', 'a stream in gzip, event by event', 'refused', [
    {
      ...encoded('gzip', 'gzip', (exchange) => gzipSync(bodyOf(exchange))),
      where: isStream,
    },
  ]),
  row('D13', 'a compressed bomb', 'refused before it is unpacked', [
    encoded('16 MiB of nothing', 'gzip', () => bomb),
  ]),
  row('D14', 'trailers that tell of an error', 'ignored', [
    {
      name: 'a status of 500',
      replies: (exchange) => [
        inChunks(exchange, write(chunk(bodyOf(exchange))), write('0\r\nx-status: 500\r\n\r\n'), end),
      ],
      expects: everywhere(worksAt(1)),
    },
  ]),
]
