import type { RunState } from '../../events/run-document.ts'
import type { LockBlock, Result } from '../lock/lock-block.ts'
import type { Instance } from '../manifest/manifest.ts'

/** What an instance is in comparison with lock, files, store and journals. */
export type State = RunState

/** A candidate that a run has to make, or go on with. */
export interface Variant {
  /** From 1. */
  readonly number: number
  readonly key: string
}

export interface Assessment {
  readonly instance: Instance
  readonly state: State
  /** Its key: of the picked variant, else of the first; null while it is not known. */
  readonly key: string | null
  /** The keys of all its variants, in their order; empty while they are not known. */
  readonly keys: readonly string[]
  /** A short digest of each field, for the lock; null while the key is not known. */
  readonly fields: Readonly<Record<string, string>> | null
  /** Why, each a sentence: the fields that changed, the files that differ, the asserts that failed. */
  readonly reasons: readonly string[]
  /** Whether its outcome is known to a queue that is not the one asked. */
  readonly isElsewhere?: boolean
  /** What to generate; empty in every state but `new`, `stale`, and `awaiting` with candidates that are missing. */
  readonly toMake: readonly Variant[]
  /** The locked block that belongs to it, by its key or its name. */
  readonly block: LockBlock | null
  /**
   * The name under which that block stands in the lock. Another one than its own that the manifest does not have is its
   * former name, and goes once the block stands under the new one.
   */
  readonly lockedAs: string | null
  /**
   * The result to put in place without generating it: the locked one, or one that lies in the folder of its key. Its
   * paths are those where it belongs. With an output that was only moved or renamed, its files may be there already.
   */
  readonly restore: { readonly result: Result; readonly picked: number | null } | null
  /** Files of `restore` that lie where they belonged before, and have to go from there: the output was moved. */
  readonly moves: readonly { readonly from: string; readonly to: string }[]
}

/** How many requests an instance still needs, as far as that is known; of what is made after others, all. */
export function requestsLeft({ instance, state, toMake }: Assessment): number {
  const { pick, variants } = instance
  return state === 'pending' ? (pick === null ? variants : 1) : toMake.length
}
