import type { Survivors } from '../survivors.ts'

export const journal: readonly Survivors[] = [
  {
    file: 'src/pipeline/journal/journal-line.ts',
    reason: 'An empty rest is no whole line, and left out.',
    changes: [['from < bytes.length', 'from <= bytes.length']],
  },
  {
    file: 'src/pipeline/journal/history.ts',
    reason: 'Every journal is read from a `begin` on, of which nobody asks for the version.',
    changes: [["''"]],
  },
  {
    file: 'src/pipeline/journal/history.ts',
    reason: 'The first line decides; without a line nobody asks.',
    changes: [['false', 'true']],
  },
  {
    file: 'src/pipeline/journal/owner-record.ts',
    reason: 'The time of the last access is not read; that of the last change is tested.',
    changes: [['now / 1000', 'now * 1000']],
  },
  {
    file: 'src/pipeline/journal/owner-record.ts',
    reason: 'A text that is split has a first part; the type does not say so.',
    changes: [["'X'"]],
  },
  {
    file: 'src/pipeline/journal/owner-record.ts',
    reason: 'Any text without the fields of a process has no time at which it started.',
    changes: [["''", '"Stryker was here!"']],
  },
  {
    file: 'src/pipeline/journal/owner.ts',
    reason:
      'That it keeps no process alive is tested with a process of its own, which has none of the changes.',
    changes: [["'background'"]],
  },
  {
    file: 'src/pipeline/journal/owner.ts',
    reason: 'Any text without the end of such a name is passed over.',
    changes: [["''"]],
  },
  {
    file: 'src/pipeline/journal/journal.ts',
    reason: 'Only names that have the form of a journal get there.',
    changes: [['/^(....)(..)(..)T(..)(..)(..)(...)/']],
  },
]
