import type { FileContext } from '../../context.ts'
import type { Lock, LockBlock } from '../lock/lock-block.ts'
import { writeLock } from '../lock/project-lock.ts'
import type { Project } from '../project.ts'

/** The lock of a run, while results come. */
export interface LockKeeper {
  /** As it stands now. */
  readonly lock: Lock
  /** The instances that have an output of these bytes. */
  holders(sha256: string): readonly string[]
  /** @param before the name under which the block stood until now, if it is another */
  set(id: string, block: LockBlock, before?: string): void
  /** Writes what is not written yet. */
  save(): Promise<void>
}

/**
 * Between two writes, in milliseconds. The journal has each result anyway; the file is written now and then only for those
 * who look at it during a long run.
 */
const checkpointMs = 10_000

/** @param isKept whether the lock is written at all; a shard leaves the committed one alone */
export function keepLock(context: FileContext, project: Project, initial: Lock, isKept: boolean): LockKeeper {
  const { clock } = context
  const lock = new Map(initial)
  /** The instances by the digests of their outputs, as soon as somebody asks for them: few runs do. */
  let byDigest: Map<string, Set<string>> | undefined
  const enter = (id: string, { outputs }: LockBlock) => {
    for (const { sha256 } of outputs) byDigest?.set(sha256, (byDigest.get(sha256) ?? new Set()).add(id))
  }
  const leave = (id: string) => {
    for (const { sha256 } of lock.get(id)?.outputs ?? []) byDigest?.get(sha256)?.delete(id)
    lock.delete(id)
  }
  let isDirty = false
  let writtenAt = clock.monotonic()
  let writing: Promise<void> = Promise.resolve()
  const save = () => {
    if (!isDirty || !isKept) return writing
    isDirty = false
    writtenAt = clock.monotonic()
    const now = new Map(lock)
    writing = writing.catch(() => {}).then(() => writeLock(context, project, now))
    return writing
  }
  return {
    lock,
    holders(sha256) {
      if (byDigest === undefined) {
        byDigest = new Map()
        for (const [id, block] of lock) enter(id, block)
      }
      return [...(byDigest.get(sha256) ?? [])]
    },
    set(id, block, before) {
      leave(before ?? id)
      leave(id)
      lock.set(id, block)
      enter(id, block)
      isDirty = true
      // A failure to write shows at the end, when it is tried again.
      if (clock.monotonic() - writtenAt >= checkpointMs) void save().catch(() => void (isDirty = true))
    },
    save,
  }
}
