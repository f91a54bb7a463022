import { expect, test } from 'vitest'
import type { LockBlock } from '../../../src/pipeline/lock/lock-block.ts'
import type { Lane, Reference } from '../../../src/pipeline/manifest/manifest.ts'
import { estimateSeconds, longestPaths } from '../../../src/pipeline/schedule/expected-time.ts'

const reference = (instance: string): Reference => ({
  text: `@${instance}`,
  instance,
  candidate: null,
})

test('the longest path counts all that waits for an instance', () => {
  const graph: [string, string[]][] = [
    ['hero', []],
    ['banner', ['hero']],
    ['teaser', ['hero']],
    ['caption', ['banner', 'teaser']],
    ['alone', []],
  ]
  const instances = new Map(graph.map(([id, needs]) => [id, { id, references: needs.map(reference) }]))
  const times: Record<string, number> = { hero: 10, banner: 20, teaser: 100, caption: 5, alone: 30 }
  expect([...longestPaths(instances, ({ id }) => times[id]!)].toReversed()).toEqual([
    ['hero', 115],
    ['banner', 25],
    ['teaser', 105],
    ['caption', 5],
    ['alone', 30],
  ])
})

test('a request takes as long as it took last, else as the middle one of its lane, else what is usual', () => {
  const instances: { id: string; lane: Lane }[] = [
    { id: 'a', lane: 'image' },
    { id: 'b', lane: 'image' },
    { id: 'c', lane: 'image' },
    { id: 'new', lane: 'image' },
    { id: 'text', lane: 'text' },
    { id: 'clip', lane: 'video' },
  ]
  const locked = (took_s: number | null) => ({ took_s }) as LockBlock
  const lock = new Map([
    ['a', locked(30)],
    ['b', locked(4)],
    ['c', locked(7)],
    ['text', locked(null)],
    ['gone', locked(1000)],
  ])
  const seconds = estimateSeconds(instances, lock)
  expect(instances.map((instance) => seconds(instance))).toEqual([30, 4, 7, 7, 5, 90])
})
