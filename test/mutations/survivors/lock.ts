import type { Survivors } from '../survivors.ts'

export const lock: readonly Survivors[] = [
  {
    file: 'src/pipeline/lock/block-shape.ts',
    reason: 'It stands for a value about which there is a complaint, so that nobody gets it.',
    changes: [["''"]],
  },
  {
    file: 'src/pipeline/lock/lock-text.ts',
    reason: 'The fields of one block have different names.',
    changes: [['one < other', 'one <= other']],
  },
  {
    file: 'src/pipeline/lock/lock-text.ts',
    reason: 'Where there is no block there was a complaint, and the lock is refused.',
    changes: [['block !== undefined', 'true']],
  },
  {
    file: 'src/pipeline/lock/lock-text.ts',
    reason: 'It only saves time: no more problems than the limit are told in any case.',
    changes: [['problems.isFull', 'false']],
  },
  {
    file: 'src/pipeline/lock/lock-text.ts',
    reason: 'It only saves time: where no name stands twice, the long way finds none, either.',
    changes: [
      ['lines <= members', 'false'],
      ['lines <= members', 'lines < members'],
    ],
  },
  {
    file: 'src/pipeline/lock/lock-text.ts',
    reason: 'What begins a line is no line break.',
    changes: [['at < offset', 'at <= offset']],
  },
  {
    file: 'src/pipeline/lock/merge-lock.ts',
    reason: 'An id that is not ours is theirs, and a block does not equal undefined.',
    changes: [['block !== undefined', 'true']],
  },
  {
    file: 'src/pipeline/lock/merge-lock.ts',
    reason: 'No block has such a key.',
    changes: [['[]', '["Stryker was here"]']],
  },
  {
    file: 'src/pipeline/lock/canonical-form.ts',
    reason: 'Null is written before it gets there.',
    changes: [['value === null', 'false']],
  },
  {
    file: 'src/pipeline/lock/project-lock.ts',
    reason: 'A file that could not be written has been removed already; it is discarded as all of them are.',
    changes: [['{\n    await file.discard()\n  }', '{}']],
  },
]
