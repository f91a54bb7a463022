import { inPieces, sse } from '../../support/server-replies.ts'
import { row, type Expected, type FaultRow, type FaultVariant } from '../row.ts'
import { event, harmless, isStream, spoilt, streamOf, untilClosed } from './spoil.ts'

/** Text was there, and the end was not. */
const truncated: Expected = {
  exit: 7,
  says: /before the answer was complete|cut off in the middle/,
  error: { code: 'connection_lost', billed: 'maybe' },
  leaves: 'begun',
}

const withLineEnds = (name: string, lineEnd: (index: number) => string): FaultVariant => ({
  name,
  where: isStream,
  replies: (exchange) => {
    let index = 0
    return [streamOf(exchange, (piece) => piece.replaceAll('\n', () => lineEnd(index++)))]
  },
  expects: harmless,
})
const before = (name: string, text: string): FaultVariant => spoilt(name, (piece) => text + piece)

/** E1 to E20: how a stream is cut into events, and how it ends. */
export const eventFraming: readonly FaultRow[] = [
  row('E1', 'a stream that arrives byte by byte', 'the same output', [
    {
      name: 'a chunk for each byte',
      where: isStream,
      replies: ({ reply }) => [sse(inPieces(Buffer.concat(reply.pieces).toString(), 1))],
      expects: harmless,
    },
  ]),
  row('E2', 'lines that end in LF, CRLF, CR, or in each in turn', 'the same output', [
    withLineEnds('CRLF', () => '\r\n'),
    withLineEnds('CR', () => '\r'),
    withLineEnds('each event another', (index) => ['\n', '\r\n', '\r'][(index >> 1) % 3]!),
  ]),
  row('E3', 'a byte order mark', 'skipped at the start of the stream', [
    spoilt('at the start', (piece, index) => (index === 0 ? `\uFEFF${piece}` : piece)),
  ]),
  row(
    'E4',
    'data in several lines, no space after the colon, comments, unknown fields, `id` and `retry`',
    'read as the standard says; nothing is ever sent again because of `retry`',
    [
      spoilt('data in several lines', (piece) => piece.replace('{', '{\ndata: ')),
      spoilt('no space after the colon', (piece) => piece.replace('data: ', 'data:')),
      before('comments', ': ping\n\n:\n'),
      before('unknown fields', 'colour: red\nnothing\n'),
      before('id and retry', 'id: 7\nretry: 99999999999999999999\nretry: soon\n'),
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
  ]),
  row(
    'E10',
    'the stream ends in good order before the last event',
    'an error: what has been printed stays, what is whole is kept',
    [
      spoilt('by its framing', (piece, index) => (index === 0 ? piece : []), { text: truncated }),
      {
        name: 'with the connection',
        where: isStream,
        replies: (exchange) => [untilClosed(exchange, (piece, index) => (index === 0 ? piece : []))],
        expects: { text: truncated },
      },
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
    {
      name: 'at once',
      where: isStream,
      replies: (exchange) => [streamOf(exchange, (piece) => piece, 'reset')],
      expects: harmless,
    },
  ]),
  row('E13', 'data after the end, or a second end', 'ignored', [
    spoilt('another event', (piece, index, { length }) =>
      index === length - 1 ? [piece, event({ some: 'thing' })] : piece,
    ),
    spoilt('the last event twice', (piece, index, { length }) =>
      index === length - 1 && length > 2 ? [piece, piece] : piece,
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
]
