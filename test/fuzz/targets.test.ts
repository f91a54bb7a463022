import { expect, test } from 'vitest'
import { allTargets } from './all-targets.ts'
import { fuzz, replayCorpus } from './target.ts'

/** Of each target so many; `targets.slow.test.ts` has the whole. */
const runs = { trivial: 10_000, cheap: 3_000, moderate: 300, dear: 30 }
const seed = 14

test.for(allTargets)('$name: $promises', async (target) => {
  await expect(replayCorpus(target)).resolves.toBeUndefined()
  await expect(fuzz(target, { seed, runs: runs[target.cost] })).resolves.toBeUndefined()
})

test('each target has a name of its own', () => {
  expect(new Set(allTargets.map(({ name }) => name)).size).toBe(allTargets.length)
})
