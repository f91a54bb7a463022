import {
  flood,
  head,
  inPieces,
  json,
  readAll,
  sse,
  write,
  type ServerReply,
} from '../../support/server-replies.ts'
import type { Exchange } from '../exchanges.ts'
import { row, type Expected, type FaultRow, type FaultVariant } from '../row.ts'
import {
  all,
  event,
  harmless,
  isRun,
  isStream,
  isStyle,
  once,
  paid,
  spoilt,
  streamOf,
  untilClosed,
} from './expectations.ts'

/** Text was there, and the end was not. */
const truncated: Expected = {
  exit: 7,
  says: /before the answer was complete|cut off in the middle/,
  error: { code: 'connection_lost', billed: 'maybe' },
  leaves: 'begun',
}

/** What the first request for a stream gets. */
const streamed = (
  name: string,
  reply: (exchange: Exchange) => ServerReply,
  expects = harmless,
): FaultVariant => once(name, reply, expects, isStream)

/** Something between the first event and the second. */
const between = (name: string, text: string, expects: FaultVariant['expects']): FaultVariant =>
  streamed(
    name,
    (exchange) =>
      streamOf(exchange, (piece, index) =>
        index === 0 && !isLast(exchange.reply.pieces) ? [piece, text] : [text, piece],
      ),
    expects,
  )
const isLast = ({ length }: readonly unknown[]) => length === 1

/** Nothing but this. */
const alone = (name: string, text: string, expected: Expected): FaultVariant =>
  spoilt(name, (_, index) => (index === 0 ? [text] : []), { text: expected })

const notUnderstood: Expected = {
  exit: 8,
  says: /contains neither text nor the end of a generation/,
  error: { code: 'reply_not_understood', billed: 'maybe' },
}
const failed = (says: RegExp, leaves: Expected['leaves'] = 'begun'): Expected => ({ exit: 9, says, leaves })

const errors = {
  generate: event({ error: { code: 500, message: 'It broke inside.', status: 'INTERNAL' } }),
  respond: event({ type: 'error', code: 'server_error', message: 'It broke inside.', param: null }),
}
const untyped = event({ error: { message: 'It broke inside.' } })
const failedByError = failed(/It broke inside\./)
const finish = (finishReason: string) => event({ candidates: [{ index: 0, finishReason }] })
const ended = (status: string, more: object = {}) =>
  event({
    type: `response.${status}`,
    response: { id: 'resp_1', object: 'response', status, output: [], ...more },
  })

/** The first event, and another end. */
const endedBy = (
  name: string,
  style: 'generate' | 'respond' | 'any',
  last: string,
  expected: Expected,
): FaultVariant => {
  const where = style === 'any' ? isStream : isStyle(style)
  return spoilt(name, (piece, index) => (index === 0 ? [piece, last] : []), { text: expected }, where)
}

const stalled = (says: RegExp): Expected => ({
  exit: 7,
  says,
  error: { billed: 'maybe', phase: 'stream' },
  leaves: 'begun',
})

/** E1 to E33: how a stream is cut into events, what these say, how it ends, and how long it takes. */
export const streams: readonly FaultRow[] = [
  row('E1', 'a stream that arrives byte by byte', 'the same output', [
    streamed('a chunk for each byte', ({ reply }) =>
      sse(inPieces(Buffer.concat(reply.pieces).toString(), 1)),
    ),
  ]),
  row('E2', 'lines that end in LF, CRLF, CR, or in each in turn', 'the same output', [
    streamed('each event another', (exchange) => {
      let index = 0
      const lineEnd = () => ['\n', '\r\n', '\r'][(index++ >> 1) % 3]!
      return streamOf(exchange, (piece) => piece.replaceAll('\n', lineEnd))
    }),
  ]),
  row('E3', 'a byte order mark', 'skipped at the start of the stream', [
    spoilt('at the start', (piece, index) => (index === 0 ? `\uFEFF${piece}` : piece)),
  ]),
  row(
    'E4',
    'data in several lines, no space after the colon, comments, unknown fields, `id` and `retry`',
    'read as the standard says; nothing is ever sent again because of `retry`',
    [
      spoilt(
        'all of it',
        (piece) =>
          `: ping\n\n:\ncolour: red\nnothing\nid: 7\nretry: 9e99\n${piece.replace(': {', ':{\ndata: ')}`,
      ),
    ],
  ),
  row('E5', 'a character that is cut by the end of a chunk', 'put together again', [
    spoilt('two chunks for each character that has two bytes', (piece) => {
      const bytes = Buffer.from(piece)
      const cut = bytes.indexOf('ö') + 1
      return cut === 0 ? [bytes] : [bytes.subarray(0, cut), bytes.subarray(cut)]
    }),
  ]),
  row('E6', 'the stream ends in the middle of a character', 'it was cut; no replacement character is shown', [
    streamed(
      'after the first byte of two',
      (exchange) =>
        untilClosed(exchange, (piece, index) => {
          const bytes = Buffer.from(piece)
          return index > 1 ? [] : [index === 0 ? bytes : bytes.subarray(0, bytes.indexOf('ö') + 1)]
        }),
      { text: truncated },
    ),
  ]),
  row('E7', 'bytes that are not UTF-8', 'each is shown as a replacement character', [
    spoilt('in a text', (piece) => [Buffer.from(piece.replaceAll('ö', '\u00ff'), 'latin1')], {
      text: { exit: 0, leaves: { text: 'Hello, w\uFFFDrld.' } },
    }),
  ]),
  row('E8', 'the two halves of a surrogate pair in two events', 'put together before anything is printed', [
    spoilt(
      'U+1F600',
      (piece) =>
        piece.replaceAll(/Hello, wörld\.|Hello, |wörld\./g, (words) =>
          words === 'Hello, ' ? '\\ud83d' : words === 'wörld.' ? '\\ude00' : '\\ud83d\\ude00',
        ),
      { text: { exit: 0, leaves: { text: '\u{1F600}' } } },
    ),
  ]),
  row('E9', 'the blank line after the last event is missing', 'a last event that is complete counts', [
    streamed('the connection ends behind the last line', (exchange) =>
      untilClosed(exchange, (piece, index, pieces) =>
        index === pieces.length - 1 ? piece.trimEnd() : piece,
      ),
    ),
  ]),
  row(
    'E10',
    'the stream ends in good order before the last event',
    'an error: what has been printed stays, what is whole is kept',
    [
      spoilt('by its framing', (piece, index) => (index === 0 ? piece : []), { text: truncated }),
      streamed(
        'with the connection',
        (exchange) => untilClosed(exchange, (piece, index) => (index === 0 ? piece : [])),
        { text: truncated },
      ),
    ],
  ),
  row('E11', 'the connection stays open after the end', 'the program ends at once, or after a short grace', [
    {
      name: 'for ever',
      where: isStream,
      replies: (exchange) => [streamOf(exchange, (piece) => piece, 'stall')],
      trouble: () => ({ stepMs: 1000 }),
      expects: harmless,
    },
  ]),
  row('E12', 'the connection is reset after the end', 'nothing is missing', [
    streamed('at once', (exchange) => streamOf(exchange, (piece) => piece, 'reset')),
  ]),
  row('E13', 'data after the end, or a second end', 'ignored', [
    spoilt('another event, and the last one again', (piece, index, { length }) =>
      index === length - 1 ? [piece, event({ some: 'thing' }), ...(length > 2 ? [piece] : [])] : piece,
    ),
  ]),
  row(
    'E14',
    '`[DONE]`',
    'ends a stream only as exactly this, and completes none that has no end of its own',
    [
      spoilt('behind the end', (piece, index, { length }) =>
        index === length - 1 ? [piece, 'data: [DONE]\n\n'] : piece,
      ),
      spoilt('in place of the end', (piece, index) => (index === 0 ? [piece, 'data: [DONE]\n\n'] : []), {
        text: { exit: 0, says: /unknown finish reason: none/, leaves: { text: 'Hello, ' } },
      }),
      spoilt(
        'with something behind it',
        (piece, index) => (index === 0 ? [piece, 'data: [DONE]x\n\n'] : []),
        { text: { exit: 8, says: /not valid JSON/, leaves: 'begun' } },
      ),
    ],
  ),
  row(
    'E15',
    'an error in the middle of the stream, the status being 200',
    'what has come is printed, then the error',
    [
      endedBy('of generate', 'generate', errors.generate, failedByError),
      endedBy('of respond', 'respond', errors.respond, failedByError),
      endedBy('an error object without a type', 'any', untyped, failedByError),
      endedBy('an event of the name `error`', 'any', `event: error\n${untyped}`, failedByError),
    ],
  ),
  row('E16', 'an event that is not valid JSON', 'refused; the message holds nothing of it', [
    between('in the middle', 'data: {"secret": prompt}\n\n', {
      text: {
        exit: 8,
        says: /^(?!.*secret).*A message of the reply is not valid JSON\./m,
        error: { code: 'reply_not_understood', billed: 'maybe' },
        leaves: 'begun',
      },
    }),
  ]),
  row('E17', 'JSON that is cut at the end', 'it was cut', [
    spoilt(
      'in the last event',
      (piece, index) => (index === 0 ? piece : index === 1 ? piece.slice(0, 20) : []),
      {
        text: {
          exit: 7,
          says: /cut off in the middle/,
          error: { code: 'connection_lost', billed: 'maybe' },
          leaves: 'begun',
        },
      },
    ),
  ]),
  row(
    'E18',
    'events that say nothing: `null`, `[]`, `""`, `42`, `{}`',
    'passed over; a stream of nothing else is refused',
    [
      ...['null', '[]', '{}', '{"candidates":null}', '{"type":7}'].map((value) =>
        between(`${value} between others`, `data: ${value}\n\n`, harmless),
      ),
      ...['null', '{}'].map((value) => alone(`${value} alone`, `data: ${value}\n\n`, notUnderstood)),
    ],
  ),
  row('E19', 'event types, fields and values that nobody knows', 'passed over', [
    between('an event type', event({ type: 'response.something.new', output_index: 0 }), harmless),
    spoilt('fields', (piece) => piece.replace('{', '{"new":{"deep":[1,2]},')),
  ]),
  row('E20', 'names of events and fields that mean something to JavaScript', 'nothing', [
    spoilt('an event called __proto__', (piece) => `event: __proto__\n${piece}`),
    between('a type', event({ type: '__proto__' }), harmless),
    spoilt('fields', (piece) =>
      piece.replace('{', '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},'),
    ),
  ]),
  row(
    'E21',
    'an index that makes no sense',
    'refused outside 0 to 1023',
    [-1, 1024, 1e9].map((index): FaultVariant =>
      spoilt(
        String(index),
        (piece) =>
          piece.replaceAll('"index":0', `"index":${index}`).replaceAll('_index":0', `_index":${index}`),
        { text: { exit: 8, says: /index/ } },
      ),
    ),
  ),
  row(
    'E30',
    'an answer that was blocked, or reached a limit',
    'what has come is kept; blocked or empty is a failure, the token limit a warning',
    [
      endedBy('SAFETY', 'generate', finish('SAFETY'), failed(/SAFETY/)),
      {
        ...endedBy('MAX_TOKENS', 'generate', finish('MAX_TOKENS'), {
          exit: 0,
          says: /cut short by the token limit/,
          leaves: { text: 'Hello, ' },
        }),
        where: (call, exchange) => isStyle('generate')(call, exchange) && !isRun(call),
      },
      {
        ...endedBy(
          'MAX_TOKENS, of a file',
          'generate',
          finish('MAX_TOKENS'),
          failed(/cut short by the token limit/, 'nothing'),
        ),
        where: isRun,
      },
      endedBy(
        'max_output_tokens',
        'respond',
        ended('incomplete', { incomplete_details: { reason: 'max_output_tokens' } }),
        { exit: 0, says: /cut short by the token limit/, leaves: { text: 'Hello, ' } },
      ),
      endedBy('an unknown reason', 'generate', finish('SOMETHING_NEW'), {
        exit: 0,
        says: /unknown finish reason: SOMETHING_NEW/,
        leaves: { text: 'Hello, ' },
      }),
      spoilt(
        'a prompt that was blocked',
        (_, index) => (index === 0 ? event({ promptFeedback: { blockReason: 'SAFETY' } }) : []),
        { text: failed(/SAFETY/, 'nothing') },
        isStyle('generate'),
      ),
    ],
  ),
  row('E31', 'a response that ends as `incomplete`, `failed` or `cancelled`', 'the reason is named', [
    endedBy(
      'failed',
      'respond',
      ended('failed', { error: { code: 'server_error', message: 'The model fell over.' } }),
      failed(/The model fell over\./),
    ),
    endedBy('cancelled', 'respond', ended('cancelled'), failed(/was cancelled/)),
    endedBy(
      'incomplete, for its content',
      'respond',
      ended('incomplete', { incomplete_details: { reason: 'content_filter' } }),
      failed(/content_filter|blocked/),
    ),
  ]),
  row(
    'E32',
    'a response that is still running, though it was not to run in the background',
    'its id is printed, and the command that waits for it',
    ['queued', 'in_progress'].map((status): FaultVariant =>
      once(
        status,
        json({ id: 'resp_1', object: 'response', status, output: [] }),
        {
          text: {
            exit: 11,
            says: /The response resp_1 is still running/,
            error: { code: 'still_running', billed: 'yes', remote_id: 'resp_1' },
          },
        },
        ({ name }) => name === 'respond --no-stream',
      ),
    ),
  ),
  row(
    'E33',
    'sequence numbers with a gap, or twice the same',
    'nothing: the end of the stream says whether all is there',
    [
      spoilt(
        'both',
        (piece, index) => piece.replace('{', `{"sequence_number":${[7, 7, 99][index]},`),
        { text: all },
        isStyle('respond'),
      ),
    ],
  ),
  row('E22', 'an event of more than 64 MiB', 'delivered'),
  row('E23', 'an event of more than 96 MiB, or a line without an end', 'refused at the limit'),
  row('E24', 'an event of very many lines', 'read', [
    spoilt(
      '20,000 lines of a comment, and as many of data',
      (piece) => `${':\n'.repeat(20_000)}data: \n${'data:\n'.repeat(20_000)}${piece}`,
    ),
  ]),
  row('E25', 'a stream of a million events', 'read as it comes, in no more memory than a short one'),
  row('E26', 'a stream that falls silent', 'given up after 60 s (`--idle-timeout`)', [
    {
      name: 'in the middle',
      where: isStream,
      replies: (exchange) => [streamOf(exchange, (piece, index) => (index === 0 ? piece : []), 'stall')],
      trouble: () => ({ stepMs: 5000 }),
      expects: { text: stalled(/sent no more data for 60 s/) },
    },
    {
      name: 'before the first event',
      where: isStream,
      replies: (exchange) => [streamOf(exchange, () => [], 'stall')],
      trouble: () => ({ stepMs: 5000 }),
      expects: paid({ ...stalled(/sent no more data for 60 s/), leaves: 'nothing' }),
    },
  ]),
  row('E27', 'nothing but comments, for ever', 'given up after 300 s without progress', [
    {
      name: 'after the first event',
      where: ({ name }) => name === 'generate' || name === 'respond',
      replies: ({ reply: { pieces } }) => [
        [
          readAll,
          write(head(200, { 'content-type': 'text/event-stream' })),
          write(pieces[0]!),
          flood(': ping\n\n'.repeat(8000)),
        ],
      ],
      trouble: () => ({ stepMs: 5000, more: ['--idle-timeout', '10000'] }),
      expects: { text: stalled(/made no progress for 300 s/) },
    },
  ]),
  row('E28', 'a stream that drips', 'continues for as long as something comes', [
    streamed('two bytes at a time', ({ reply }) => sse(inPieces(Buffer.concat(reply.pieces).toString(), 2))),
  ]),
  row('E29', 'a long silence within the limits, and then the rest', 'continues'),
]
