import { end, readAll, reset } from '../../support/server-replies.ts'
import type { Expected, FaultRow } from '../row.ts'

const lost: Expected = {
  exit: 7,
  says: /closed the connection/,
  error: { code: 'outcome_reset', billed: 'maybe' },
  leaves: 'nothing',
}
const again: Expected = { exit: 0, attempts: 2, leaves: 'all' }

/** B: while the request is sent, and before the headers of its reply. */
export const beforeTheHeaders: readonly FaultRow[] = [
  {
    id: 'B2',
    fault: 'the connection ends before the headers, the request having been sent whole',
    happens: 'a creation is an unknown outcome and is not repeated; what is only read is asked for again',
    tried: [
      {
        name: 'reset',
        replies: () => [[readAll, reset]],
        expects: { text: lost, creation: lost, 'look-up': again, download: again },
      },
      {
        name: 'closed',
        replies: () => [[readAll, end]],
        expects: { text: lost, creation: lost, 'look-up': again, download: again },
      },
    ],
  },
]
