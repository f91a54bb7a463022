import type { LockBlock } from '../lock/lock-block.ts'
import type { Instance } from '../manifest/manifest.ts'
import type { World } from './world.ts'

/** The locked block of an instance. */
export interface FoundBlock {
  /** Its name in the lock. */
  readonly id: string
  readonly block: LockBlock
  /** Which variant's key it has, from 1; null where it was found by its name alone. */
  readonly variant: number | null
}

/**
 * Finds the block of an instance: by its key, so that another name costs nothing, then by its name. What other instances
 * of the manifest have locked stays theirs.
 * @param keys of its variants; none while they are not known
 */
export function findBlock(
  { id }: Instance,
  keys: readonly string[],
  { lock, lockedByKey, manifest }: World,
): FoundBlock | null {
  const own = lock.get(id)
  const ownVariant = own === undefined ? -1 : keys.indexOf(own.key)
  if (own !== undefined && ownVariant !== -1) return { id, block: own, variant: ownVariant + 1 }
  for (const [at, key] of keys.entries()) {
    const former = lockedByKey.get(key)?.find((name) => !manifest.instances.has(name))
    if (former !== undefined) return { id: former, block: lock.get(former)!, variant: at + 1 }
  }
  return own === undefined ? null : { id, block: own, variant: null }
}
