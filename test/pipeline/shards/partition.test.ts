import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Lock } from '../../../src/pipeline/lock/lock-block.ts'
import { partition, type ShardedInstance } from '../../../src/pipeline/shards/partition.ts'
import { estimateSeconds } from '../../../src/pipeline/schedule/lanes.ts'
import { runs } from '../../support/sample.ts'
import { block } from './sample-parts.ts'

const usual = { lane: 'image', variants: 1, references: [] } as const
const instance = (id: string, more: Partial<ShardedInstance> = {}) => ({ id, ...usual, ...more })
const needs = (...ids: readonly string[]): Pick<ShardedInstance, 'references'> => ({
  references: ids.map((id) => ({ text: `@${id}`, instance: id, candidate: null })),
})
const locked = (id: string, took_s: number) => [id, block(id, id, { took_s })] as const

const all = ['a', 'b', 'c', 'd'].map((id) => instance(id))
const lock = new Map([locked('a', 10), locked('b', 40), locked('c', 10), locked('d', 15)])
const [five, video] = [instance('images', { variants: 5 }), instance('video', { lane: 'video' })]

test.each<[string, readonly ShardedInstance[], Lock, object]>([
  ['balances by the time that each took last', all, lock, { a: 2, b: 1, c: 2, d: 2 }],
  ['counts each variant', [instance('image'), five, video], new Map(), { images: 1, video: 2, image: 2 }],
])('%s', (_, instances, before, parts) => {
  expect(Object.fromEntries(partition(instances, () => [], before, 2))).toEqual(parts)
})

/** Manifests of chains, stars, shared keys and single instances, with times for some. */
const manifests = fc
  .array(
    fc.record({
      lane: fc.constantFrom('text', 'image', 'video'),
      tookS: fc.option(fc.double({ min: 0, max: 300, noNaN: true })),
      need: fc.option(fc.nat(), { freq: 2 }),
      key: fc.option(fc.nat(40), { freq: 2 }),
    }),
    { maxLength: 150 },
  )
  .map((rows) => {
    const instances = rows.map(({ lane, need }, at) =>
      instance(`j${at}`, { lane, ...(need === null || at === 0 ? {} : needs(`j${need % at}`)) }),
    )
    const keys = new Map(rows.map(({ key }, at) => [`j${at}`, key === null ? [] : [String(key)]]))
    const lock: Lock = new Map(
      rows.flatMap(({ tookS }, at) => (tookS === null ? [] : [locked(`j${at}`, tookS)])),
    )
    return { instances, keys, lock }
  })

test('parts of 1,000 manifests are whole, disjoint, closed and balanced, whatever the order of the rows', () => {
  fc.assert(
    fc.property(manifests, fc.integer({ min: 1, max: 64 }), ({ instances, keys, lock }, total) => {
      const keysOf = (id: string) => keys.get(id)!
      const shards = partition(instances, keysOf, lock, total)
      expect(new Set(shards.keys())).toEqual(new Set(instances.map(({ id }) => id)))
      for (const shard of shards.values()) expect(shard >= 1 && shard <= total).toBe(true)
      const groups = slowGroups(instances, keysOf)
      for (const group of groups) expect(new Set(group.map(({ id }) => shards.get(id))).size).toBe(1)

      // No part is longer than the mean by more than the longest group, which has to be whole.
      const seconds = estimateSeconds(instances, lock)
      const sumOf = (members: readonly ShardedInstance[]) =>
        members.reduce((sum, member) => sum + seconds(member), 0)
      const loads = Map.groupBy(instances, ({ id }) => shards.get(id))
      const longest = Math.max(0, ...[...loads.values()].map(sumOf))
      const mean = sumOf(instances) / total
      expect(longest).toBeLessThanOrEqual(mean + Math.max(0, ...groups.map(sumOf)) + 1e-6)
      expect(partition(instances.toReversed(), keysOf, lock, total)).toEqual(shards)
    }),
    runs(1000),
  )
})

/** The same groups, put together one instance after the other. */
function slowGroups(instances: readonly ShardedInstance[], keysOf: (id: string) => readonly string[]) {
  const refersTo = ({ references }: ShardedInstance, id: string) =>
    references.some(({ instance }) => instance === id)
  let groups: ShardedInstance[][] = []
  for (const one of instances) {
    const keys = keysOf(one.id)
    const isLinked = (other: ShardedInstance) =>
      refersTo(one, other.id) || refersTo(other, one.id) || keysOf(other.id).some((key) => keys.includes(key))
    const { linked = [], others = [] } = Object.groupBy(groups, (group) =>
      group.some(isLinked) ? 'linked' : 'others',
    )
    groups = [...others, [one, ...linked.flat()]]
  }
  return groups
}
