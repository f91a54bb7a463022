import { sse } from '../../support/server-replies.ts'
import type { Scenario } from '../scenario.ts'

/** Exit code 10 and its neighbours: the trouble is on this machine. What can be seen before is seen before anything is sent. */
export const localTrouble: readonly Scenario[] = [
  {
    name: 'the output file exists',
    argv: () => ['-o', 'answer.txt', 'Say hello.'],
    files: { 'project/answer.txt': 'precious' },
    replies: () => [],
    exit: 10,
    says: /"answer\.txt" already exists\./,
    error: { code: 'file_exists', billed: 'no', http_status: null },
  },
  {
    name: "the output file's folder is missing",
    argv: () => ['-o', 'missing/answer.txt', 'Say hello.'],
    replies: () => [],
    exit: 10,
    says: /the folder "missing" does not exist\./,
    error: { code: 'folder_missing', billed: 'no' },
  },
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
