import type { Lock } from '../lock/lock-block.ts'
import type { Instance } from '../manifest/manifest.ts'
import { estimateSeconds } from '../schedule/expected-time.ts'

/** One of several parts of a run. */
export interface Shard {
  /** From 1. */
  readonly index: number
  readonly total: number
}

export type ShardedInstance = Pick<Instance, 'id' | 'lane' | 'variants' | 'references'>

/**
 * Which part each instance belongs to, from 1. Instances that refer to each other or share a key stay together; the
 * parts take about as long as each other, by the time that each instance took last. The same manifest and the same lock
 * give the same parts, whatever the order of the rows.
 * @param keysOf the keys of an instance that the manifest and the lock alone give; none where they depend on what is to
 * be made first
 * @param lock as it is committed
 */
export function partition(
  instances: Iterable<ShardedInstance>,
  keysOf: (id: string) => readonly string[],
  lock: Lock,
  total: number,
): ReadonlyMap<string, number> {
  const sorted = [...instances].toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const secondsOf = estimateSeconds(sorted, lock)
  const loads = Array.from({ length: total }, () => 0)
  const shards = new Map<string, number>()
  const groups = groupsOf(sorted, keysOf).map((members) => ({
    members,
    seconds: members.reduce((sum, instance) => sum + secondsOf(instance) * instance.variants, 0),
  }))
  // The longest first, each to the part that is done first: at most a third longer than the best that there is.
  for (const { members, seconds } of groups.toSorted((a, b) => b.seconds - a.seconds)) {
    const shard = loads.indexOf(Math.min(...loads))
    loads[shard]! += seconds
    for (const { id } of members) shards.set(id, shard + 1)
  }
  return shards
}

/** The instances that have to stay together, in the order of their first members. */
function groupsOf(
  instances: readonly ShardedInstance[],
  keysOf: (id: string) => readonly string[],
): ShardedInstance[][] {
  /** A member of the same group for each id; a group's first member for itself. */
  const parents = new Map(instances.map(({ id }) => [id, id]))
  const firstOf = (id: string): string => {
    let first = id
    for (let next = parents.get(first)!; next !== first; next = parents.get(first)!) {
      // Halves the way for the next one.
      parents.set(first, parents.get(next)!)
      first = next
    }
    return first
  }
  const join = (one: string, other: string) => void parents.set(firstOf(one), firstOf(other))
  const owners = new Map<string, string>()
  for (const { id, references } of instances) {
    for (const { instance } of references) if (parents.has(instance)) join(id, instance)
    for (const key of keysOf(id)) {
      const owner = owners.get(key)
      if (owner === undefined) owners.set(key, id)
      else join(id, owner)
    }
  }
  const groups = new Map<string, ShardedInstance[]>()
  for (const instance of instances) {
    const first = firstOf(instance.id)
    const group = groups.get(first)
    if (group === undefined) groups.set(first, [instance])
    else group.push(instance)
  }
  return [...groups.values()]
}
