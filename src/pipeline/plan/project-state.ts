import type { RunState } from '../../events/run-document.ts'
import type { AssertChecker } from '../execute/check-asserts.ts'
import type { History } from '../journal/journal.ts'
import type { Lock, LockBlock, OutputFacts, Result } from '../lock/lock-block.ts'
import type { Instance, Manifest } from '../manifest/manifest.ts'
import { foldedPath, placeOutputs, possiblePaths } from '../manifest/output-paths.ts'
import type { Replaced } from '../store/blob-store.ts'
import type { Results } from '../store/results.ts'

export type State = RunState

/** A candidate that a run has to make, or continue. */
export interface Variant {
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
  readonly block: LockBlock | null
  /** The name of that block in the lock: its own, or a former one, which is then removed. */
  readonly lockedAs: string | null
  /** The result to put in place without generating it, with the paths where it belongs; it may be there already. */
  readonly restore: { readonly result: Result; readonly picked: number | null } | null
  /** Files of `restore` that lie where they belonged before, and have to go from there: the output was moved. */
  readonly moves: readonly { readonly from: string; readonly to: string }[]
}

/** How many requests an instance still needs; of a fan-out that waits as many as may come. */
export function requestsLeft({ instance, state, toMake }: Assessment): number {
  const { pick, variants, waiting } = instance
  return state === 'pending' ? (pick === null ? variants : 1) * (waiting?.most ?? 1) : toMake.length
}

export interface Forced {
  /** Instances whose results no longer count (`--regenerate`); each leaves when it is about to be made again. */
  readonly regenerate: Set<string>
  /** Files that are not as locked are put aside: `--force`. */
  readonly force: boolean
}

/** All that the states of instances follow from. */
export class ProjectState {
  declare readonly manifest: Manifest
  declare readonly lock: Lock
  declare readonly history: History
  declare readonly results: Results
  declare readonly replaced: Replaced
  /** SHA-256 of an input file. @param path relative to the manifest's folder */
  declare readonly inputDigest: (path: string) => Promise<string>
  declare readonly checkAsserts: AssertChecker['check']
  declare readonly forced: Forced
  /** Whether a request of unknown outcome is simply sent again: it creates nothing twice, or costs nothing. */
  declare readonly isSentAgain: boolean
  /** Keys of requests that were given to the queue of this run: it knows what has become of them. */
  declare readonly inQueue: Set<string>
  /** The identity of the queue that is asked; null where none is. */
  declare readonly queue: string | null
  /** Milliseconds since 1970: `{date}` in the name of an output is its day. */
  declare readonly now: number
  #byKey: Lists | undefined
  #byPath: Lists | undefined
  #byDigest: Lists | undefined
  #outputs: ReadonlySet<string> | undefined

  /** @param parts their lock is not changed any more: what is looked up in it is put together once it is needed */
  constructor(parts: ProjectParts) {
    Object.assign(this, parts)
  }

  /** The ids of the blocks that have a key. */
  get lockedByKey(): Lists {
    return (this.#byKey ??= listsOf([...this.lock].map(([id, { key }]) => [key, id])))
  }

  /** Digests that the lock names for a path. */
  get lockedByPath(): Lists {
    return (this.#byPath ??= listsOf(lockedOutputs(this.lock, (_, { path, sha256 }) => [path, sha256])))
  }

  get lockedByDigest(): Lists {
    return (this.#byDigest ??= listsOf(lockedOutputs(this.lock, (id, { sha256 }) => [sha256, id])))
  }

  /** Whether an output of an instance belongs to this path, or to one that some systems take for the same. */
  isOutput(path: string): boolean {
    this.#outputs ??= outputsOf(this)
    return this.#outputs.has(foldedPath(path))
  }
}

export type ProjectParts = Omit<ProjectState, 'lockedByKey' | 'lockedByPath' | 'lockedByDigest' | 'isOutput'>

type Lists = ReadonlyMap<string, readonly string[]>
type Pair = readonly [name: string, value: string]

function listsOf(pairs: readonly Pair[]): Lists {
  const groups = Map.groupBy(pairs, ([name]) => name)
  return new Map(Array.from(groups, ([name, all]) => [name, all.map(([, value]) => value)]))
}

function lockedOutputs(lock: Lock, pairOf: (id: string, facts: OutputFacts) => Pair): Pair[] {
  return [...lock].flatMap(([id, { outputs }]) => outputs.map((facts) => pairOf(id, facts)))
}

function outputsOf({ manifest, lock, now }: ProjectState): ReadonlySet<string> {
  const paths = new Set<string>()
  for (const [id, instance] of manifest.instances) {
    for (const path of possiblePaths(instance, now).flat()) paths.add(foldedPath(path))
    const block = lock.get(id)
    if (block !== undefined)
      for (const { path } of placeOutputs(instance, block, now)) paths.add(foldedPath(path))
  }
  return paths
}
