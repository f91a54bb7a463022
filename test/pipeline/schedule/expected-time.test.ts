import { expect, test } from 'vitest'
import { longestPaths } from '../../../src/pipeline/schedule/lanes.ts'

test('the longest path counts all that waits for an instance', () => {
  const graph = { hero: [], banner: ['hero'], teaser: ['hero'], caption: ['banner', 'teaser'], alone: [] }
  const instances = new Map(
    Object.entries<string[]>(graph).map(([id, needs]) => {
      const references = needs.map((instance) => ({ text: `@${instance}`, instance, candidate: null }))
      return [id, { id, references }]
    }),
  )
  const times: Record<string, number> = { hero: 10, banner: 20, teaser: 100, caption: 5, alone: 30 }
  expect([...longestPaths(instances, ({ id }) => times[id]!)].toReversed()).toEqual([
    ['hero', 115],
    ['banner', 25],
    ['teaser', 105],
    ['caption', 5],
    ['alone', 30],
  ])
})
