import { inPieces, sse } from '../../support/server-replies.ts'
import type { Expected, FaultRow, FaultVariant } from '../row.ts'
import { event, isStream, streamOf, untilClosed } from './spoil.ts'

const all: Expected = { exit: 0, leaves: 'all' }
/** Text was there, and the end was not. */
const truncated: Expected = {
  exit: 7,
  says: /before the answer was complete|cut off in the middle/,
  error: { code: 'connection_lost', billed: 'maybe' },
  leaves: 'begun',
}
const harmless = { text: all, creation: all }

const withLineEnds = (name: string, lineEnd: (index: number) => string): FaultVariant => ({
  name,
  where: isStream,
  replies: (exchange) => {
    let index = 0
    return [streamOf(exchange, (piece) => piece.replaceAll('\n', () => lineEnd(index++)))]
  },
  expects: harmless,
})
const before = (name: string, text: string): FaultVariant => ({
  name,
  where: isStream,
  replies: (exchange) => [streamOf(exchange, (piece) => text + piece)],
  expects: harmless,
})

/** E1 to E20: how a stream is cut into events, and how it ends. */
export const eventFraming: readonly FaultRow[] = [
  {
    id: 'E1',
    fault: 'a stream that arrives byte by byte',
    happens: 'the same output',
    tried: [
      {
        name: 'a chunk for each byte',
        where: isStream,
        replies: ({ reply }) => [sse(inPieces(Buffer.concat(reply.pieces).toString(), 1))],
        expects: harmless,
      },
    ],
  },
  {
    id: 'E2',
    fault: 'lines that end in LF, CRLF, CR, or in each in turn',
    happens: 'the same output',
    tried: [
      withLineEnds('CRLF', () => '\r\n'),
      withLineEnds('CR', () => '\r'),
      withLineEnds('each event another', (index) => ['\n', '\r\n', '\r'][(index >> 1) % 3]!),
    ],
  },
  {
    id: 'E3',
    fault: 'a byte order mark',
    happens: 'skipped at the start of the stream',
    tried: [
      {
        name: 'at the start',
        where: isStream,
        replies: (exchange) => [
          streamOf(exchange, (piece, index) => (index === 0 ? `\uFEFF${piece}` : piece)),
        ],
        expects: harmless,
      },
    ],
  },
  {
    id: 'E4',
    fault: 'data in several lines, no space after the colon, comments, unknown fields, `id` and `retry`',
    happens: 'read as the standard says; nothing is ever sent again because of `retry`',
    tried: [
      {
        name: 'data in several lines',
        where: isStream,
        replies: (exchange) => [streamOf(exchange, (piece) => piece.replace('{', '{\ndata: '))],
        expects: harmless,
      },
      {
        name: 'no space after the colon',
        where: isStream,
        replies: (exchange) => [streamOf(exchange, (piece) => piece.replace('data: ', 'data:'))],
        expects: harmless,
      },
      before('comments', ': ping\n\n:\n'),
      before('unknown fields', 'colour: red\nnothing\n'),
      before('id and retry', 'id: 7\nretry: 99999999999999999999\nretry: soon\n'),
    ],
  },
  {
    id: 'E5',
    fault: 'a character that is cut by the end of a chunk',
    happens: 'put together again',
    tried: [
      {
        name: 'two chunks for each character that has two bytes',
        where: isStream,
        replies: (exchange) => [
          streamOf(exchange, (piece) => {
            const bytes = Buffer.from(piece)
            const cut = bytes.indexOf('ö') + 1
            return cut === 0 ? [bytes] : [bytes.subarray(0, cut), bytes.subarray(cut)]
          }),
        ],
        expects: harmless,
      },
    ],
  },
  {
    id: 'E6',
    fault: 'the stream ends in the middle of a character',
    happens: 'it was cut; no replacement character is shown',
    tried: [
      {
        name: 'after the first byte of two',
        where: isStream,
        replies: (exchange) => [
          untilClosed(exchange, (piece, index) => {
            const bytes = Buffer.from(piece)
            return index > 1 ? [] : [index === 0 ? bytes : bytes.subarray(0, bytes.indexOf('ö') + 1)]
          }),
        ],
        expects: { text: truncated },
      },
    ],
  },
  {
    id: 'E7',
    fault: 'bytes that are not UTF-8',
    happens: 'each is shown as a replacement character',
    tried: [
      {
        name: 'in a text',
        where: isStream,
        replies: (exchange) => [
          streamOf(exchange, (piece) => [Buffer.from(piece.replaceAll('ö', '\u00ff'), 'latin1')]),
        ],
        expects: { text: { exit: 0, leaves: { text: 'Hello, w\uFFFDrld.' } } },
      },
    ],
  },
  {
    id: 'E8',
    fault: 'the two halves of a surrogate pair in two events',
    happens: 'put together before anything is printed',
    tried: [
      {
        name: 'U+1F600',
        where: isStream,
        replies: (exchange) => [
          streamOf(exchange, (piece) =>
            piece.replaceAll(/Hello, wörld\.|Hello, |wörld\./g, (words) =>
              words === 'Hello, ' ? '\\ud83d' : words === 'wörld.' ? '\\ude00' : '\\ud83d\\ude00',
            ),
          ),
        ],
        expects: { text: { exit: 0, leaves: { text: '\u{1F600}' } } },
      },
    ],
  },
  {
    id: 'E9',
    fault: 'the blank line after the last event is missing',
    happens: 'a last event that is complete counts',
    tried: [
      {
        name: 'the connection ends behind the last line',
        where: isStream,
        replies: (exchange) => [
          untilClosed(exchange, (piece, index, pieces) =>
            index === pieces.length - 1 ? piece.trimEnd() : piece,
          ),
        ],
        expects: harmless,
      },
    ],
  },
  {
    id: 'E10',
    fault: 'the stream ends in good order before the last event',
    happens: 'an error: what has been printed stays, what is whole is kept',
    tried: [
      {
        name: 'by its framing',
        where: isStream,
        replies: (exchange) => [streamOf(exchange, (piece, index) => (index === 0 ? piece : []))],
        expects: { text: truncated },
      },
      {
        name: 'with the connection',
        where: isStream,
        replies: (exchange) => [untilClosed(exchange, (piece, index) => (index === 0 ? piece : []))],
        expects: { text: truncated },
      },
    ],
  },
  {
    id: 'E11',
    fault: 'the connection stays open after the end',
    happens: 'the program ends at once, or after a short grace',
    tried: [
      {
        name: 'for ever',
        where: isStream,
        replies: (exchange) => [streamOf(exchange, (piece) => piece, 'stall')],
        trouble: () => ({ stepMs: 1000 }),
        expects: harmless,
      },
    ],
  },
  {
    id: 'E12',
    fault: 'the connection is reset after the end',
    happens: 'nothing is missing',
    tried: [
      {
        name: 'at once',
        where: isStream,
        replies: (exchange) => [streamOf(exchange, (piece) => piece, 'reset')],
        expects: harmless,
      },
    ],
  },
  {
    id: 'E13',
    fault: 'data after the end, or a second end',
    happens: 'ignored',
    tried: [
      {
        name: 'another event',
        where: isStream,
        replies: (exchange) => [
          streamOf(exchange, (piece, index, { length }) =>
            index === length - 1 ? [piece, event({ some: 'thing' })] : piece,
          ),
        ],
        expects: harmless,
      },
      {
        name: 'the last event twice',
        where: isStream,
        replies: (exchange) => [
          streamOf(exchange, (piece, index, { length }) =>
            index === length - 1 && length > 2 ? [piece, piece] : piece,
          ),
        ],
        expects: harmless,
      },
    ],
  },
  {
    id: 'E14',
    fault: '`[DONE]`',
    happens: 'ends a stream only as exactly this, and completes none that has no end of its own',
    tried: [
      {
        name: 'behind the end',
        where: isStream,
        replies: (exchange) => [
          streamOf(exchange, (piece, index, { length }) =>
            index === length - 1 ? [piece, 'data: [DONE]\n\n'] : piece,
          ),
        ],
        expects: harmless,
      },
      {
        name: 'in place of the end',
        where: isStream,
        replies: (exchange) => [
          streamOf(exchange, (piece, index) => (index === 0 ? [piece, 'data: [DONE]\n\n'] : [])),
        ],
        expects: { text: { exit: 0, says: /unknown finish reason: none/, leaves: { text: 'Hello, ' } } },
      },
      {
        name: 'with something behind it',
        where: isStream,
        replies: (exchange) => [
          streamOf(exchange, (piece, index) => (index === 0 ? [piece, 'data: [DONE]x\n\n'] : [])),
        ],
        expects: { text: { exit: 8, says: /not valid JSON/, leaves: 'begun' } },
      },
    ],
  },
]
