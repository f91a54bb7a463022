import process from 'node:process'
import { expect, test } from 'vitest'
import { allTargets } from './all-targets.ts'
import { fuzz } from './target.ts'

interface Round {
  /** Names of targets; all when there is none. */
  readonly only: readonly string[]
  readonly seed: number
  /** Only this run of the seed. */
  readonly path?: string
}

/** Of each target so many, about ten seconds. */
const runs = { trivial: 200_000, cheap: 40_000, moderate: 5_000, dear: 500 }

// `npm run fuzz` starts this; without it there is nothing to do.
const round = JSON.parse(process.env['FUZZ_ROUND'] ?? 'null') as Round | null
const chosen = allTargets.filter(({ name }) => round?.only.length === 0 || round?.only.includes(name))

test.runIf(round !== null).for(chosen)('$name', { timeout: 0 }, async (target) => {
  const { seed, path } = round!
  await expect(fuzz(target, { seed, runs: runs[target.cost], path })).resolves.toBeUndefined()
})

test.runIf(round !== null)('there is such a target', () => {
  const names = new Set(allTargets.map(({ name }) => name))
  expect(round!.only.filter((name) => !names.has(name))).toEqual([])
})
