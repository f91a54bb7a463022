import type { Survivors } from '../survivors.ts'

export const standardInput: readonly Survivors[] = [
  {
    file: 'src/commands/shared/input/questions.ts',
    reason: 'The list is asked for before anything can be chosen from it.',
    changes: [['[]', '["Stryker was here"]']],
  },
  {
    file: 'src/commands/shared/input/questions.ts',
    reason: 'No choice has the value undefined, so that none is marked, as without a default.',
    changes: [['present === undefined', 'false']],
  },
  {
    file: 'src/commands/shared/input/questions.ts',
    reason: 'To the library a stream that is undefined is one that is not given.',
    changes: [
      ['stdin.stream === undefined', 'false'],
      ['stderr.stream === undefined', 'false'],
    ],
  },
  {
    file: 'src/commands/shared/input/questions.ts',
    reason: 'Who can be asked has a stream.',
    changes: [
      ['stdin.stream?.once', 'stdin.stream.once'],
      ['stdin.stream?.off', 'stdin.stream.off'],
    ],
  },
  {
    file: 'src/commands/shared/input/questions.ts',
    reason: 'The stream pauses at the end of a question, which aborts the same signal.',
    changes: [['over.abort()', ';']],
  },
]
