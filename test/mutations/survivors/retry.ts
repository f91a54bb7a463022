import type { Survivors } from '../survivors.ts'

export const retry: readonly Survivors[] = [
  {
    file: 'src/gateway/send-request.ts',
    reason: 'The expression matches any text from its beginning.',
    changes: [['/^(?:(\\S+) )?.*/s', '/(?:(\\S+) )?.*/s']],
  },
  {
    file: 'src/gateway/send-request.ts',
    reason: 'A comparison with undefined is never true.',
    changes: [['asked !== undefined', 'true']],
  },
  {
    file: 'src/gateway/send-request.ts',
    reason: 'Informational replies have been passed over before.',
    changes: [['reply.status >= 200', 'true']],
  },
]
