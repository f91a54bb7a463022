import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { expect, test } from 'vitest'
import { allTargets } from './all-targets.ts'
import { openPulse, report, roundVariable, type Round } from './round.ts'
import { corpusText, Counterexample, fuzz, inputOf, replayCorpus, shownInput, type Target } from './target.ts'

/** So many runs between two looks at the time. */
const batch = { trivial: 2_000, cheap: 500, moderate: 100, dear: 10 }

const round = JSON.parse(process.env[roundVariable] ?? 'null') as Round | null
const chosen = allTargets.filter(({ name }) => round?.only.length === 0 || round?.only.includes(name))

// `npm run fuzz` starts this; without it there is nothing to do.
test.runIf(round !== null).for(chosen)('$name', { timeout: 0 }, async (target) => {
  const { folder, seed, path, tellsInput } = round!
  if (tellsInput) {
    const input = await inputOf(target, { seed, path })
    return report(folder, { kind: 'input', text: shownInput(input), entry: entryOf('no end of it', input) })
  }
  report(folder, { kind: 'begin', target: target.name })
  const work = async () => {
    if (path === undefined) await replayCorpus(target)
    await fillSlice(target, round!)
  }
  const failure = await work().then(() => undefined, failureOf)
  if (failure !== undefined) report(folder, failure)
  expect(failure).toBeUndefined()
})

test.runIf(round !== null)('there is such a target', () => {
  const names = allTargets.map(({ name, promises }) => `  ${name}: ${promises}`)
  const text = `There are these targets:\n${names.join('\n')}`
  if (chosen.length === 0) report(round!.folder, { kind: 'failure', text, entry: undefined })
  expect(chosen).not.toEqual([])
})

/** Goes on until the time is over; of a path only once. */
async function fillSlice(target: Target<unknown>, { folder, seed, sliceMs, path }: Round): Promise<void> {
  const begun = performance.now()
  const pulse = openPulse(folder)
  const runs = batch[target.cost]
  let batches = 0
  do {
    const own = (seed + batches++) | 0
    await fuzz(target, { seed: own, runs, path }, { onRun: (run) => pulse.write(own, run) })
  } while (path === undefined && performance.now() - begun < sliceMs)
  pulse.close()
  const seconds = (performance.now() - begun) / 1000
  report(folder, { kind: 'slice', target: target.name, runs: batches * runs, seconds })
}

function failureOf(error: unknown) {
  const { message = String(error), cause } = error instanceof Error ? error : {}
  const text = cause instanceof Error ? `${message}\n${cause.stack}` : message
  const entry = error instanceof Counterexample ? entryOf(error.reason, error.input) : undefined
  return { kind: 'failure', text, entry } as const
}

/** For the corpus; undefined when JSON cannot hold it. */
function entryOf(what: string, input: unknown): string {
  return corpusText([{ what: what.split('\n', 1)[0]!, input }])
}
