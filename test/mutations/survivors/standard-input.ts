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
  {
    file: 'src/commands/shared/input/questions.ts',
    reason:
      'This version of the library takes no Enter before it shows the choices for what was typed; another may.',
    changes: [
      ['found[0]?.value ?? answer', 'found[0]?.value && answer'],
      ['found[0]?.value', 'found[0].value'],
      ['value === answer', 'true'],
      ['value === answer', 'value !== answer'],
    ],
  },
  {
    file: 'src/commands/shared/input/standard-input.ts',
    reason: 'The reason of a signal is an error of ours, which is passed on as it is.',
    changes: [['context.signal.throwIfAborted()', ';']],
  },
]
