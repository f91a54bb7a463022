import type { Lock } from '../lock/lock-block.ts'
import type { Instance } from '../manifest/manifest.ts'
import { estimateSeconds } from '../schedule/lanes.ts'

/** One of several parts of a run. */
export interface Shard {
  readonly index: number
  readonly total: number
}

export type ShardedInstance = Pick<Instance, 'id' | 'lane' | 'variants' | 'references'>

type KeysOf = (id: string) => readonly string[]

/**
 * Which part each instance belongs to, from 1. Instances that refer to each other or share a key stay together; the
 * parts take about as long as each other, by the time that each instance took last. The same manifest and the same lock
 * give the same parts, whatever the order of the rows.
 * @param keysOf those that the manifest and the lock alone give; none where they depend on what is to be made first
 * @param lock as it is committed
 */
export function partition(
  instances: Iterable<ShardedInstance>,
  keysOf: KeysOf,
  lock: Lock,
  total: number,
): ReadonlyMap<string, number> {
  const sorted = [...instances].toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const secondsOf = estimateSeconds(sorted, lock)
  const groups = groupsOf(sorted, keysOf).map((members) => ({
    members,
    seconds: members.reduce((sum, instance) => sum + secondsOf(instance) * instance.variants, 0),
  }))
  const loads = Array.from({ length: total }, () => 0)
  const shards = new Map<string, number>()
  // The longest first, each to the part that is done first: at most a third longer than the best that there is.
  for (const { members, seconds } of groups.toSorted((a, b) => b.seconds - a.seconds)) {
    const shard = loads.indexOf(Math.min(...loads))
    loads[shard]! += seconds
    for (const { id } of members) shards.set(id, shard + 1)
  }
  return shards
}

function groupsOf(instances: readonly ShardedInstance[], keysOf: KeysOf): readonly ShardedInstance[][] {
  const groups = new Map(instances.map((instance) => [instance.id, [instance]]))
  const join = (id: string, other: string) => {
    const [one, two] = [groups.get(id)!, groups.get(other)!]
    if (one === two) return
    // The smaller one moves: in a manifest of 10,000 instances each moves a few times only.
    const [into, from] = one.length < two.length ? [two, one] : [one, two]
    into.push(...from)
    for (const member of from) groups.set(member.id, into)
  }
  const owners = new Map<string, string>()
  for (const { id, references } of instances) {
    for (const { instance } of references) if (groups.has(instance)) join(id, instance)
    for (const key of keysOf(id)) {
      join(id, owners.get(key) ?? id)
      owners.set(key, id)
    }
  }
  return [...new Set(groups.values())]
}
