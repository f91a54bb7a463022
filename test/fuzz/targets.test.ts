import { expect, test } from 'vitest'
import { amount, seedOf } from '../support/sample.ts'
import { allTargets } from './all-targets.ts'
import { fuzz } from './target.ts'

/** Of each target so many at full depth. */
const runs = { trivial: 100_000, cheap: 20_000, moderate: 2_000, dear: 500 }
const share = amount(0.03, 1)

test.for(allTargets)('$name: $promises', { timeout: 600_000 }, async (target) => {
  const run = { seed: seedOf(target.name) | 0, runs: Math.ceil((target.runs ?? runs[target.cost]) * share) }
  await expect(fuzz(target, run)).resolves.toBeUndefined()
})

test('each target has a name of its own', () => {
  expect(new Set(allTargets.map(({ name }) => name)).size).toBe(allTargets.length)
})
