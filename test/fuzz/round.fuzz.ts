import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { expect, test } from 'vitest'
import { allTargets } from './all-targets.ts'
import { corpusText, Counterexample, fuzz, replayCorpus } from './target.ts'

interface Round {
  /** Names of targets; all when there is none. */
  readonly only: readonly string[]
  readonly seed: number
  /** Only this run of the seed. */
  readonly path?: string
}

/** Of each target so many, about ten seconds. */
const runs = { trivial: 200_000, cheap: 40_000, moderate: 5_000, dear: 500 }

const round = JSON.parse(process.env['FUZZ_ROUND'] ?? 'null') as Round | null
const chosen = allTargets.filter(({ name }) => round?.only.length === 0 || round?.only.includes(name))

// `npm run fuzz` starts this; without it there is nothing to do.
test.runIf(round !== null).for(chosen)('$name', { timeout: 0 }, async (target) => {
  const { seed, path } = round!
  if (path === undefined) await replayCorpus(target)
  const failure = await fuzz(target, { seed, runs: runs[target.cost], path }).catch((error: unknown) => error)
  if (failure instanceof Counterexample) keep(target.name, failure)
  expect(failure).toBeUndefined()
})

test.runIf(round !== null)('there is such a target', () => {
  const names = new Set(allTargets.map(({ name }) => name))
  expect(round!.only.filter((name) => !names.has(name))).toEqual([])
})

/** Adds what was found to the corpus, which the tests try first. */
function keep(target: string, { reason, input }: Counterexample): void {
  const folder = join(import.meta.dirname, 'corpus')
  const file = join(folder, `${target}.json`)
  const known = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as object[]) : []
  const [added] = JSON.parse(corpusText([{ what: reason.split('\n', 1)[0]!, input }])) as [object]
  if (known.some((one) => JSON.stringify(one) === JSON.stringify(added))) return
  mkdirSync(folder, { recursive: true })
  writeFileSync(file, `${JSON.stringify([...known, added], null, 2)}\n`)
  console.error(`Kept in ${file}: commit it with the fix.`)
}
