import { brotliCompressSync, gzipSync } from 'node:zlib'
import {
  chunk,
  end,
  flood,
  head,
  json,
  readAll,
  reset,
  sse,
  stall,
  text,
  write,
  type ServerReply,
  type Step,
} from '../../support/server-replies.ts'
import type { Call } from '../calls.ts'
import type { Exchange } from '../exchanges.ts'
import { row, type Expected, type FaultRow, type FaultVariant } from '../row.ts'
import {
  always,
  atLast,
  bodyOf,
  ever,
  everywhere,
  gaveUp,
  isStream,
  lasting,
  once,
  paid,
  replyWith,
  sampled,
  worksAt,
} from './expectations.ts'

const page = (title: string) =>
  `<!doctype html><html><head><title>${title}</title></head><body>...</body></html>`

/** Whatever is in it: the status decides. */
const rejected = (name: string, reply: ServerReply, says: RegExp): FaultVariant => {
  const expected: Expected = { exit: 4, says, error: { http_status: 400, billed: 'no' } }
  return ever(name, reply, {
    ...paid(expected),
    'look-up': expected,
    poll: { ...expected, error: { http_status: 400 } },
    stream: { ...expected, says: /./, error: {}, attempts: 'any' },
  })
}
const body = (name: string, value: unknown, words: string): FaultVariant =>
  rejected(name, json(value, { status: 400 }), new RegExp(`\\(HTTP 400\\)${words}`))
const plain = (name: string, reply: ServerReply): FaultVariant =>
  rejected(name, reply, /The gateway rejected the request \(HTTP 400\)/)

const badGateway = (exit: number): Expected => ({
  exit,
  says: /\(HTTP 502\): an HTML page, "502 Bad Gateway"/,
})

const type = (name: string, headers: Readonly<Record<string, string>>): FaultVariant =>
  once(name, (exchange) => replyWith(exchange, headers), everywhere(worksAt(1)))

/** The last event of a stream holds what a reply without one is. */
const wholeOf = ({ reply, asks }: Exchange): Buffer<ArrayBuffer> => {
  const last = JSON.parse(String(reply.pieces.at(-1)).slice('data: '.length)) as {
    readonly response?: unknown
    readonly b64_json?: string
  }
  const texts = reply.pieces.map((piece) => JSON.parse(String(piece).slice('data: '.length)) as object)
  if (last.response !== undefined) return Buffer.from(JSON.stringify(last.response))
  if (last.b64_json !== undefined) return Buffer.from(JSON.stringify({ data: [{ b64_json: last.b64_json }] }))
  return Buffer.from(asks.source.includes('GenerateContent') ? JSON.stringify(texts) : '')
}

/** A body that has another length than is said: that of the right one. */
const ofLength = (exchange: Exchange, body: Buffer, ending: Step): ServerReply =>
  replyWith(exchange, { 'content-length': String(bodyOf(exchange).length) }, body, ending)
const inChunks = (exchange: Exchange, ...steps: readonly Step[]): ServerReply => [
  readAll,
  write(head(200, { 'content-type': exchange.reply.type, 'transfer-encoding': 'chunked' })),
  ...steps,
]
const first = (body: Buffer): Buffer => body.subarray(0, Math.ceil(body.length / 3))

/** What is paid for is lost, whatever has come of it; what is only read is asked for again. */
const cut = (name: string, reply: (exchange: Exchange) => ServerReply): FaultVariant =>
  once(
    name,
    reply,
    {
      ...everywhere(worksAt(2)),
      ...paid({
        exit: 7,
        says: /cut off|before the answer was complete|before the image was complete|closed the connection/,
        error: { billed: 'maybe' },
      }),
    },
    (call, exchange) => exchange.role !== 'report' && !keepsSomething(call, exchange),
  )

/** Of an image, and of the name of a job, the beginning is kept: see cuts.test.ts. */
const keepsSomething = (call: Call, { role, reply }: Exchange): boolean =>
  role === 'creation' || (role === 'text' && reply.type === 'text/event-stream') || call.argv[0] === 'run'

const unreadable = (name: string, says: RegExp, reply: (exchange: Exchange) => ServerReply): FaultVariant =>
  lasting(name, reply, {
    ...everywhere({ exit: 8, says, error: { code: 'reply_not_understood' } }),
    ...atLast,
  })

const notRequested = /The reply is encoded \(.*\), which was not requested\./
const encoded = (name: string, coding: string, body: (exchange: Exchange) => Buffer): FaultVariant =>
  unreadable(name, notRequested, (exchange) =>
    replyWith(exchange, { 'content-encoding': coding }, body(exchange)),
  )
const bomb = gzipSync(Buffer.alloc(16 * 1_048_576))
const half = (bytes: Buffer): Buffer => bytes.subarray(0, bytes.length / 2)

/** C25 to C35, and D: what is in the body of an error, what a reply says that it is, and how it is framed and encoded. */
export const bodies: readonly FaultRow[] = [
  row('C25', 'an HTML page with 200', 'refused; its title is reported', [
    lasting('a page to log in', text(page('Log in'), { headers: { 'content-type': 'text/html' } }), {
      ...everywhere({ exit: 8, says: /an HTML page, "Log in"/, error: { code: 'reply_not_understood' } }),
      ...atLast,
      download: { exit: 8, says: /HTML|no image|not an image|no video|not a video/ },
    }),
  ]),
  row('C26', 'an HTML page with 502', 'the status decides; the title is reported', [
    lasting('502 Bad Gateway', text(page('502 Bad Gateway'), { status: 502 }), {
      text: { ...badGateway(7), attempts: 3, isNotForRuns: true },
      creation: badGateway(7),
      'look-up': { ...badGateway(5), attempts: 3 },
      ...atLast,
    }),
  ]),
  row(
    'C27',
    'an error body that is huge or never ends',
    '1 MiB or five seconds of it are read; the status decides',
    [
      plain('without end', [readAll, write(head(400)), flood('x'.repeat(65_536))]),
      {
        ...plain('silent', [readAll, write(head(400, { 'content-length': '99' })), stall]),
        trouble: () => ({ stepMs: 1000 }),
      },
      ...sampled(plain('cut', [readAll, write(`${head(400, { 'content-length': '99' })}{"error":`), end])),
    ],
  ),
  row('C28', 'error bodies of all shapes', 'one reader takes what it knows; the status alone suffices', [
    body('an error object', { error: { message: 'Not so.', code: 'bad' } }, ': Not so\\.'),
    ...sampled(
      body('a list of details', { detail: [{ loc: ['body', 'n'], msg: 'Not so.' }] }, '.*Not so'),
      body('null', null, ''),
      plain('JSON nested thousands of levels deep', text('['.repeat(20_000), { status: 400 })),
    ),
  ]),
  row(
    'C29',
    '200 with an error object in place of the answer',
    'a failure of the generation; a look-up is asked for again later',
    [
      lasting('an error object', json({ error: { code: 'broken', message: 'It broke inside.' } }), {
        text: { exit: 9, says: /It broke inside\./, error: { billed: 'maybe' } },
        creation: { exit: 9, says: /It broke inside\./ },
        'look-up': { exit: 5, says: /It broke inside\./, attempts: 'any' },
        poll: gaveUp,
        stream: { exit: 9, says: /It broke inside\./, attempts: 'any' },
      }),
    ],
  ),
  row('C30', 'a wrong content type', 'what comes is judged by itself', [
    type('text/plain', { 'content-type': 'text/plain' }),
  ]),
  row('C31', 'a whole reply, though a stream was asked for', 'read as it is', [
    once(
      'application/json',
      (exchange) => replyWith(exchange, { 'content-type': 'application/json' }, wholeOf(exchange)),
      everywhere(worksAt(1)),
      (call, exchange) => isStream(call, exchange) && exchange.role !== 'stream',
    ),
  ]),
  row('C32', 'a stream, though a whole reply was asked for', 'read as it is', [
    once(
      'one event',
      ({ reply }) => sse([`data: ${Buffer.concat(reply.pieces).toString()}\n\n`]),
      everywhere(worksAt(1)),
      (_, { reply }) => reply.type === 'application/json',
    ),
  ]),
  row('C33', 'no content type, or one with another character set', 'streams are UTF-8 always', [
    {
      ...type('latin1', { 'content-type': 'text/event-stream;charset=latin1' }),
      where: isStream,
    },
    once(
      'none',
      (exchange) => [
        readAll,
        write(head(200, { 'content-length': String(bodyOf(exchange).length) })),
        write(bodyOf(exchange)),
        end,
      ],
      everywhere(worksAt(1)),
    ),
  ]),
  row('C34', 'JSON in UTF-16', 'refused', [
    {
      name: 'UTF-16',
      where: (call, exchange) =>
        exchange.reply.type === 'application/json' && exchange.role !== 'report' && call.argv[0] !== 'run',
      replies: (exchange) => {
        const text = Buffer.from(`\ufeff${bodyOf(exchange)}`, 'utf16le')
        return always(replyWith(exchange, { 'content-type': 'application/json; charset=utf-16' }, text))
      },
      expects: {
        ...everywhere({ exit: 8, says: /not valid JSON|no JSON|no image|neither text nor the end/ }),
        ...atLast,
      },
    },
  ]),
  row('C35', 'escape sequences in the id of a request', 'shown, not obeyed'),
  row(
    'D1',
    'a body shorter than its length, and the end of the connection',
    'cut: an unknown outcome, or asked for again',
    [cut('FIN', (exchange) => ofLength(exchange, first(bodyOf(exchange)), end))],
  ),
  row('D2', 'a body shorter than its length, and a reset', 'the same', [
    cut('RST', (exchange) => ofLength(exchange, first(bodyOf(exchange)), reset)),
  ]),
  row('D3', 'more bytes than the length says', 'left unread', [
    once(
      'more behind',
      (exchange) => ofLength(exchange, Buffer.concat([bodyOf(exchange), Buffer.from('more')]), end),
      everywhere(worksAt(1)),
    ),
  ]),
  row(
    'D4',
    'the connection ends between two chunks',
    'cut, even if the last event was whole; nothing is missing once the end of the answer has come',
    [
      cut('after the first', (exchange) => inChunks(exchange, write(chunk(first(bodyOf(exchange)))), end)),
      once(
        'behind the end of the answer',
        (exchange) => inChunks(exchange, write(chunk(bodyOf(exchange))), end),
        everywhere(worksAt(1)),
        isStream,
      ),
    ],
  ),
  row('D5', 'the connection ends within a chunk', 'the same', [
    cut('FIN', (exchange) => inChunks(exchange, write('fff\r\n'), write(first(bodyOf(exchange))), end)),
    ...sampled(
      cut('RST', (exchange) => inChunks(exchange, write('fff\r\n'), write(first(bodyOf(exchange))), reset)),
    ),
  ]),
  row('D6', 'a chunk whose size is no number', 'refused', [
    unreadable('the first one', /invalid HTTP response|cannot be read/, (exchange) =>
      inChunks(exchange, write('zz\r\n{}\r\n'), end),
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
    encoded('half of gzip', 'gzip', (exchange) => half(gzipSync(bodyOf(exchange)))),
    ...sampled(encoded('half of brotli', 'br', (exchange) => half(brotliCompressSync(bodyOf(exchange))))),
  ]),
  row('D9', 'gzip by name only', 'refused', sampled(encoded('a plain body', 'gzip', bodyOf))),
  row('D10', 'an unknown encoding', 'refused', [encoded('x-odd', 'x-odd', bodyOf)]),
  row(
    'D11',
    'many encodings, one in the other',
    'refused',
    sampled(encoded('six', 'gzip, gzip, gzip, gzip, gzip, gzip', bodyOf)),
  ),
  row('D12', 'a stream in gzip, event by event', 'refused', [
    { ...encoded('gzip', 'gzip', (exchange) => gzipSync(bodyOf(exchange))), where: isStream },
  ]),
  row(
    'D13',
    'a compressed bomb',
    'refused before it is unpacked',
    sampled(encoded('16 MiB of nothing', 'gzip', () => bomb)),
  ),
  row('D14', 'trailers that tell of an error', 'ignored', [
    once(
      'a status of 500',
      (exchange) =>
        inChunks(exchange, write(chunk(bodyOf(exchange))), write('0\r\nx-status: 500\r\n\r\n'), end),
      everywhere(worksAt(1)),
    ),
  ]),
]
