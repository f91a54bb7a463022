import { flood, head, inPieces, readAll, sse, write } from '../../support/server-replies.ts'
import { row, type Expected, type FaultRow } from '../row.ts'
import { isStream, spoilt, streamOf } from './spoil.ts'

const stalled = (says: RegExp): Expected => ({
  exit: 7,
  says,
  error: { billed: 'maybe', phase: 'stream' },
  leaves: 'begun',
})

/** E22 to E29: how much a stream brings, and how long it takes. */
export const streamTimes: readonly FaultRow[] = [
  row('E22', 'an event of more than 64 MiB', 'delivered', [], 'test/gateway/events/long-events.long.test.ts'),
  row(
    'E23',
    'an event of more than 96 MiB, or a line without an end',
    'refused at the limit',
    [],
    'test/gateway/events/long-events.long.test.ts',
  ),
  row('E24', 'an event of very many lines', 'read', [
    spoilt(
      '20,000 lines of a comment, and as many of data',
      (piece) => `${':\n'.repeat(20_000)}data: \n${'data:\n'.repeat(20_000)}${piece}`,
      { text: { exit: 0, leaves: 'all' }, creation: { exit: 0, leaves: 'all' } },
    ),
  ]),
  row(
    'E25',
    'a stream of a million events',
    'read as it comes, in no more memory than a short one',
    [],
    'measured by npm run bench',
  ),
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
      expects: {
        text: { ...stalled(/sent no more data for 60 s/), leaves: 'nothing' },
        creation: { ...stalled(/sent no more data for 60 s/), leaves: 'nothing' },
      },
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
  row(
    'E28',
    'a stream that drips',
    'continues for as long as something comes',
    [
      {
        name: 'two bytes at a time',
        where: isStream,
        replies: ({ reply }) => [sse(inPieces(Buffer.concat(reply.pieces).toString(), 2))],
        expects: { text: { exit: 0, leaves: 'all' }, creation: { exit: 0, leaves: 'all' } },
      },
    ],
    'slowly: test/gateway/stream-text.test.ts',
  ),
  row(
    'E29',
    'a long silence within the limits, and then the rest',
    'continues',
    [],
    'test/gateway/stream-text.test.ts',
  ),
]
