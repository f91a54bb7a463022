import { flood, head, inPieces, readAll, sse, write } from '../../support/server-replies.ts'
import type { Expected, FaultRow } from '../row.ts'
import { isStream, streamOf } from './spoil.ts'

const stalled = (says: RegExp): Expected => ({
  exit: 7,
  says,
  error: { billed: 'maybe', phase: 'stream' },
  leaves: 'begun',
})

/** E22 to E29: how much a stream brings, and how long it takes. */
export const streamTimes: readonly FaultRow[] = [
  {
    id: 'E22',
    fault: 'an event of more than 64 MiB',
    happens: 'delivered',
    tried: [],
    note: 'test/gateway/events/long-events.long.test.ts',
  },
  {
    id: 'E23',
    fault: 'an event of more than 96 MiB, or a line without an end',
    happens: 'refused at the limit',
    tried: [],
    note: 'test/gateway/events/long-events.long.test.ts',
  },
  {
    id: 'E24',
    fault: 'an event of very many lines',
    happens: 'read',
    tried: [
      {
        name: '20,000 lines of a comment, and as many of data',
        where: isStream,
        replies: (exchange) => [
          streamOf(exchange, (piece) => `${':\n'.repeat(20_000)}data: \n${'data:\n'.repeat(20_000)}${piece}`),
        ],
        expects: { text: { exit: 0, leaves: 'all' }, creation: { exit: 0, leaves: 'all' } },
      },
    ],
  },
  {
    id: 'E25',
    fault: 'a stream of a million events',
    happens: 'read as it comes, in no more memory than a short one',
    tried: [],
    note: 'measured by npm run bench',
  },
  {
    id: 'E26',
    fault: 'a stream that falls silent',
    happens: 'given up after 60 s (`--idle-timeout`)',
    tried: [
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
        expects: {
          text: { ...stalled(/sent no more data for 60 s/), leaves: 'nothing' },
          creation: { ...stalled(/sent no more data for 60 s/), leaves: 'nothing' },
        },
      },
    ],
  },
  {
    id: 'E27',
    fault: 'nothing but comments, for ever',
    happens: 'given up after 300 s without progress',
    tried: [
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
    ],
  },
  {
    id: 'E28',
    fault: 'a stream that drips',
    happens: 'continues for as long as something comes',
    tried: [
      {
        name: 'two bytes at a time',
        where: isStream,
        replies: ({ reply }) => [sse(inPieces(Buffer.concat(reply.pieces).toString(), 2))],
        expects: { text: { exit: 0, leaves: 'all' }, creation: { exit: 0, leaves: 'all' } },
      },
    ],
    note: 'slowly: test/gateway/stream-text.test.ts',
  },
  {
    id: 'E29',
    fault: 'a long silence within the limits, and then the rest',
    happens: 'continues',
    tried: [],
    note: 'test/gateway/stream-text.test.ts',
  },
]
