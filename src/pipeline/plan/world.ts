import type { JournalEvent } from '../journal/journal-event.ts'
import type { Lock, OutputFacts, Result } from '../lock/lock-block.ts'
import type { Instance, Manifest } from '../manifest/manifest.ts'

/** All that the state of an instance depends on besides the instance. */
export interface WorldParts {
  readonly manifest: Manifest
  /** What is locked, with the results that the journal of a run has which was not ended. */
  readonly lock: Lock
  readonly history: KeyHistories
  readonly candidates: Candidates
  readonly store: Blobs
  /**
   * SHA-256 of an output as it is now, of a text with LF; undefined where there is no file.
   * @param path relative to the output folder
   */
  outputDigest(path: string, isText: boolean): Promise<string | undefined>
  /** SHA-256 of an input file. @param path relative to the manifest's folder */
  inputDigest(path: string): Promise<string>
  /** Why a result does not hold the asserts of its instance, each a sentence; empty when it does. */
  checkAsserts(
    instance: Instance,
    /** Absolute paths. */
    outputs: readonly { readonly path: string; readonly facts: OutputFacts }[],
    duplicateOf: (sha256: string) => string | undefined,
  ): Promise<readonly string[]>
  readonly forced: Forced
  /** Milliseconds since 1970: `{date}` in the name of an output is its day. */
  readonly now: number
}

/** What the user asks for in spite of what is locked. */
export interface Forced {
  /** Instances whose results no longer count: `--regenerate`. */
  readonly regenerate: ReadonlySet<string>
  /** Files that are not as locked are put aside into the store: `--force`. */
  readonly force: boolean
}

/** The journals, by keys. */
export interface KeyHistories {
  of(key: string): KeyHistory | undefined
}

/** What the journals say of a key. What came before it was discarded does not count. */
export interface KeyHistory {
  readonly result: { readonly result: Result; readonly rejected: readonly string[] | null } | null
  /** A request that may have been sent, and of which nothing more is known than its job. */
  readonly open: { readonly job: Pick<Extract<JournalEvent, { type: 'job' }>, 'id' | 'kind'> | null } | null
  readonly isDiscarded: boolean
}

/** Results that wait for a choice, or did not hold their asserts. */
export interface Candidates {
  /** With absolute paths of its files, in the order of its outputs; undefined unless all are there and whole. */
  get(key: string): Promise<Candidate | undefined>
}

export interface Candidate {
  readonly result: Result
  readonly files: readonly string[]
}

/** Bytes by their digests. */
export interface Blobs {
  /** The absolute path of the checked bytes; undefined if they are not there. */
  open(sha256: string): Promise<string | undefined>
}

/** The parts, and the lock and the manifest by what is looked up in them. */
export interface World extends WorldParts {
  /** Locked ids by their key. */
  readonly lockedByKey: ReadonlyMap<string, readonly string[]>
  /** Digests that the lock names for a path. */
  readonly lockedByPath: ReadonlyMap<string, readonly string[]>
  /** Locked ids by the digest of an output. */
  readonly lockedByDigest: ReadonlyMap<string, readonly string[]>
}

export function createWorld(parts: WorldParts): World {
  const lockedByKey = new Map<string, string[]>()
  const lockedByPath = new Map<string, string[]>()
  const lockedByDigest = new Map<string, string[]>()
  for (const [id, block] of parts.lock) {
    addTo(lockedByKey, block.key, id)
    for (const { path, sha256 } of block.outputs) {
      addTo(lockedByPath, path, sha256)
      addTo(lockedByDigest, sha256, id)
    }
  }
  return { ...parts, lockedByKey, lockedByPath, lockedByDigest }
}

function addTo(lists: Map<string, string[]>, name: string, value: string): void {
  const list = lists.get(name)
  if (list === undefined) lists.set(name, [value])
  else list.push(value)
}

/** What a reference stands for at the moment. */
export type Upstream =
  | {
      readonly state: 'known'
      readonly outputs: readonly OutputFacts[]
      readonly jobId: string | null
    }
  /** It is to be made first. */
  | { readonly state: 'pending'; readonly reason: string }
  /** It stands still. */
  | { readonly state: 'blocked'; readonly reason: string }
