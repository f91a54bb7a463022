import { atomicFiles } from './survivors/atomic-files.ts'
import { budget } from './survivors/budget.ts'
import { contract } from './survivors/contract.ts'
import { exitCodes } from './survivors/exit-codes.ts'
import { failures } from './survivors/failures.ts'
import { journal } from './survivors/journal.ts'
import { keys } from './survivors/keys.ts'
import { lock } from './survivors/lock.ts'
import { redaction } from './survivors/redaction.ts'
import { retry } from './survivors/retry.ts'
import { standardInput } from './survivors/standard-input.ts'

/** Changes of Stryker that tests need not notice. */
export interface Survivors {
  readonly file: string
  /** Why nothing that matters changes. */
  readonly reason: string
  /** The text that is replaced, and what replaces it: any replacement when that is left out. */
  readonly changes: readonly (readonly [before: string, after?: string])[]
}

export const survivors: readonly Survivors[] = [
  ...retry,
  ...failures,
  ...redaction,
  ...atomicFiles,
  ...standardInput,
  ...exitCodes,
  ...contract,
  ...journal,
  ...lock,
  ...keys,
  ...budget,
]
