import type { Lock } from '../lock/lock-block.ts'
import type { Instance, Lane } from '../manifest/manifest.ts'

/** How long a request takes as long as nobody knows, in seconds. */
const usualSeconds: Readonly<Record<Lane, number>> = { text: 5, image: 20, video: 90 }

/**
 * How long one request of an instance takes, in seconds: as it took last, else as the middle one of its lane.
 * @param instances those whose last times are looked at
 */
export function estimateSeconds(
  instances: Iterable<Pick<Instance, 'id' | 'lane'>>,
  lock: Lock,
): (instance: Pick<Instance, 'id' | 'lane'>) => number {
  const lastOf = (id: string) => lock.get(id)?.took_s ?? null
  const byLane = Map.groupBy(instances, ({ lane }) => lane)
  const usual = { ...usualSeconds }
  for (const [lane, own] of byLane) {
    usual[lane] = medianOf(own.flatMap(({ id }) => lastOf(id) ?? [])) ?? usual[lane]
  }
  return ({ id, lane }) => lastOf(id) ?? usual[lane]
}

/**
 * How long, in seconds, an instance and the longest chain of those that wait for it will take: what is started first, so
 * that the whole ends soonest.
 * @param seconds how long one instance alone takes
 */
export function longestPaths<Of extends Pick<Instance, 'id' | 'references'>>(
  instances: ReadonlyMap<string, Of>,
  seconds: (instance: Of) => number,
): Map<string, number> {
  /** The longest of those that wait for an instance. */
  const after = new Map<string, number>()
  const paths = new Map<string, number>()
  for (const instance of [...instances.values()].toReversed()) {
    const path = seconds(instance) + (after.get(instance.id) ?? 0)
    paths.set(instance.id, path)
    for (const { instance: id } of instance.references) after.set(id, Math.max(path, after.get(id) ?? 0))
  }
  return paths
}

/** The middle one; of two, the lower. */
function medianOf(values: readonly number[]): number | undefined {
  return values.toSorted((one, other) => one - other)[Math.floor((values.length - 1) / 2)]
}
