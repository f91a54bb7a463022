import { sse } from '../../support/server-replies.ts'
import type { Scenario } from '../scenario.ts'

const event = (value: object) => `data: ${JSON.stringify(value)}\n\n`

/** Exit code 0: what looks like trouble and is none. */
export const successes: readonly Scenario[] = [
  {
    name: 'a whole answer',
    replies: ({ delta, end }) => [sse([delta('Hel'), delta('lo.'), end])],
    exit: 0,
    stdout: 'Hello.\n',
  },
  {
    name: 'the answer is cut short by the token limit',
    replies: ({ delta, endAtLimit }) => [sse([delta('Hel'), endAtLimit])],
    exit: 0,
    stdout: 'Hel\n',
    adds: 'The answer was cut short by the token limit.',
  },
  {
    name: 'an end for an unspecified reason',
    only: 'generate',
    replies: ({ delta }) => [
      sse([delta('Hello.'), event({ candidates: [{ finishReason: 'FINISH_REASON_UNSPECIFIED' }] })]),
    ],
    exit: 0,
    stdout: 'Hello.\n',
    adds: 'warning: The gateway ended the answer with an unknown finish reason: FINISH_REASON_UNSPECIFIED.',
  },
  {
    name: 'the answer matches the schema',
    argv: () => ['--schema', '{"type":"object","required":["name"]}', 'Invent a person.'],
    replies: ({ delta, end }) => [sse([delta('{"name":"Ada"}'), end])],
    exit: 0,
    stdout: '{"name":"Ada"}\n',
  },
]
