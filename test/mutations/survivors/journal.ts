import type { Survivors } from '../survivors.ts'

export const journal: readonly Survivors[] = [
  {
    file: 'src/pipeline/journal/journal.ts',
    reason: 'Only names that have the form of a journal get there.',
    changes: [['/^(....)(..)(..)T(..)(..)(..)(...)/']],
  },
]
