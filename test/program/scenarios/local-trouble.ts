import { sse } from '../../support/server-replies.ts'
import type { Scenario } from '../scenario.ts'

/** The text of an output file that fails is on standard output. */
export const localTrouble: readonly Scenario[] = [
  {
    name: 'the stream breaks off while a file is being written',
    argv: () => ['-o', 'answer.txt', 'Say hello.'],
    replies: ({ delta }) => [sse([delta('Hello, ')], { ending: 'reset' })],
    exit: 7,
    stdout: 'Hello, \n',
    says: /before the answer was complete/,
    adds: 'answer.txt was not finished; the text that arrived is on standard output',
    error: { code: 'stream_truncated', phase: 'stream', billed: 'maybe' },
  },
  {
    name: 'no space for the output file',
    argv: () => ['-o', '/dev/full', 'Say hello.'],
    replies: ({ delta, end }) => [sse([delta('Hel'), delta('lo.'), end])],
    exit: 10,
    stdout: 'Hello.\n',
    says: /"\/dev\/full" cannot be written: there is no space left\./,
    error: { code: 'no_space', phase: 'output' },
  },
]
