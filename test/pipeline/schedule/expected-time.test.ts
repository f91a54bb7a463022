import { expect, test } from 'vitest'
import type { Reference } from '../../../src/pipeline/manifest/manifest.ts'
import { longestPaths } from '../../../src/pipeline/schedule/lanes.ts'

const reference = (instance: string): Reference => ({ text: `@${instance}`, instance, candidate: null })

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
