import { spawnSync } from 'node:child_process'
import type { Pair } from './measurement.ts'
import type { Workbench } from './workbench.ts'

/** A command to measure, and what it must print; without that it has to end well, and no more. */
export interface Contender {
  readonly words: readonly string[]
  readonly output?: string
}

/**
 * Times two commands in turns, A B A B, in milliseconds, so that both meet the same machine.
 * Each runs once before, which fills caches and proves that it prints what it should.
 */
export function timeInTurns(workbench: Workbench, ours: Contender, other: Contender, runs: number): Pair {
  for (const { words, output } of [ours, other]) {
    const printed = run(workbench, words, output === undefined ? 'ignore' : 'pipe').stdout
    if (output !== undefined && printed !== output)
      throw new Error(`${words.join(' ')} printed ${JSON.stringify(printed.slice(0, 200))}`)
  }
  const pair = { ours: [] as number[], baseline: [] as number[] }
  for (let turn = 0; turn < runs; turn++) {
    pair.ours.push(run(workbench, ours.words, 'ignore').ms)
    pair.baseline.push(run(workbench, other.words, 'ignore').ms)
  }
  return pair
}

/**
 * Runs a command to its end.
 * @param stdout whether to return what it prints, or to send it to /dev/null
 * @throws when it fails
 */
export function run(
  { env, folder }: Workbench,
  [program, ...args]: readonly string[],
  stdout: 'pipe' | 'ignore',
  more: NodeJS.ProcessEnv = {},
) {
  const start = performance.now()
  const ending = spawnSync(program!, args, {
    cwd: folder,
    env: { ...env, ...more },
    encoding: 'utf8',
    stdio: ['ignore', stdout, 'pipe'],
    maxBuffer: 64 * 1024 * 1024,
  })
  const ms = performance.now() - start
  if (ending.status !== 0)
    throw new Error(`${args.join(' ')} ended with ${ending.status ?? ending.signal}: ${ending.stderr}`)
  return { ms, stdout: ending.stdout ?? '' }
}
