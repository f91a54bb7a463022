import { expect, test } from 'vitest'
import { allTargets } from './all-targets.ts'
import { fuzz } from './target.ts'

const runs = { trivial: 100_000, cheap: 20_000, moderate: 2_000, dear: 500 }
/** Not that of `targets.test.ts`, whose runs would be the first of these. */
const seed = 26

test.for(allTargets)('$name: $promises', { timeout: 600_000 }, async (target) => {
  await expect(fuzz(target, { seed, runs: target.runs ?? runs[target.cost] })).resolves.toBeUndefined()
})
