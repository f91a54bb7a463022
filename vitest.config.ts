import { globSync, readFileSync, statfsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { sample, seed } from './test/support/sample.ts'
import { suiteReporter } from './test/support/suite-reporter.ts'

const { version } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8')) as {
  version: string
}

// Tests write a hundred thousand small files, and many are synced: in memory, where there is room.
const memory = '/dev/shm'
if (hasRoom(memory)) process.env['TMPDIR'] = memory

const { TEST_DEPTH, TEST_REPORT } = process.env
const depthOf = (project: string) =>
  TEST_DEPTH ?? (project === 'quick' || project === 'ci' ? 'sample' : 'full')

const [all, ci, long] = ['test/**/*.test.ts', 'test/**/*.ci.test.ts', 'test/**/*.long.test.ts'] as const
// What is sampled is tried whole in the long programme.
const sampling = globSync(all, { cwd: import.meta.dirname }).filter((path) =>
  /from '[./]+\/support\/sample\.ts'/.test(readFileSync(new URL(path, import.meta.url), 'utf8')),
)

const project = (name: string, include: readonly string[], exclude: readonly string[] = []) => ({
  extends: true as const,
  test: {
    name,
    include: [...include],
    exclude: [...exclude],
    env: { TEST_DEPTH: depthOf(name), TEST_SEED: seed },
    // How long something takes on a busy machine is no fault.
    expect: { poll: { timeout: 60_000 } },
  },
})

export default defineConfig({
  define: { __VERSION__: JSON.stringify(version) },
  test: {
    projects: [
      project('quick', [all], [ci, long]),
      // Processes, terminals, servers, large inputs.
      project('ci', [ci]),
      // What is exhaustive, and takes minutes a file. At less than full depth four files, others each month.
      project('long', depthOf('long') === 'full' ? [long, ...sampling] : some(long)),
      // Started by `npm run fuzz`.
      project('fuzz', ['test/fuzz/round.fuzz.ts']),
      // Writes what this version leaves on a machine, for tests of later ones.
      project('fixtures', ['test/fixtures/make-state.ts']),
    ],
    reporters: [
      'default',
      suiteReporter((name) => `TEST_DEPTH=${depthOf(name)} TEST_SEED=${seed}`),
      ...(TEST_REPORT === undefined ? [] : [['json', { outputFile: TEST_REPORT }] as ['json', object]]),
    ],
    // Looks for keys in all that tests leave behind.
    globalSetup: 'test/support/watch-suite.ts',
    setupFiles: 'test/support/processor-time.ts',
    pool: 'forks',
    // A worker loads the program once for all of its test files; a test puts back what it changes of the process.
    isolate: false,
    // Threads and processes that tests start compile the same code again and again.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url)) },
    // Many tests start processes of their own: more workers than this would only wait for each other.
    maxWorkers: 2,
    // Limits against a hang on a busy machine; no test waits for time to pass.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 10_000,
  },
})

function some(pattern: string): readonly string[] {
  return sample(globSync(pattern, { cwd: import.meta.dirname }), 4)
}

/** Whether two gigabytes fit into a file system of its own there, and programs in it can be run. */
function hasRoom(folder: string): boolean {
  try {
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n')
    const options = mounts
      .findLast((line) => line.split(' ')[1] === folder)
      ?.split(' ')[3]
      ?.split(',')
    const { bavail, bsize } = statfsSync(folder)
    return options !== undefined && !options.includes('noexec') && bavail * bsize >= 2 * 1024 ** 3
  } catch {
    return false
  }
}
