/**
 * Fuzzes without end: every target, in turn, with new seeds. Ends with 1 at the first input that breaks a promise, and at
 * a round that does not end.
 *
 * `npm run fuzz -- [--only NAME]… [--minutes N] [--seed N [--path PATH]]`
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { parseArgs } from 'node:util'

/** A round that takes longer never ends. */
const longestRoundMs = 1_800_000

const { values: asked } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    minutes: { type: 'string', default: 'Infinity' },
    seed: { type: 'string' },
    path: { type: 'string' },
  },
})
const until = performance.now() + Number(asked.minutes) * 60_000

let seed = asked.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(asked.seed)
do {
  console.log(`seed ${seed}`)
  const round = JSON.stringify({ only: asked.only, seed, path: asked.path })
  const { status } = spawnSync(
    process.execPath,
    'node_modules/vitest/vitest.mjs run --project fuzz --pool threads --bail 1 --reporter verbose'.split(' '),
    {
      cwd: join(import.meta.dirname, '../..'),
      env: { ...process.env, NODE_OPTIONS: '--max-old-space-size=2048', FUZZ_ROUND: round },
      stdio: 'inherit',
      timeout: Math.ceil(Math.min(longestRoundMs, Math.max(1_000, until - performance.now()))),
      killSignal: 'SIGKILL',
    },
  )
  // The time may be over in the middle of a round.
  if (status !== 0 && (status !== null || performance.now() < until)) {
    console.error(`Again: npm run fuzz -- --seed ${seed}`)
    process.exit(1)
  }
  seed = (seed + 1_000_003) % 2 ** 31
} while (asked.path === undefined && performance.now() < until)
