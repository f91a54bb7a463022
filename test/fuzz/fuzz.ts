/**
 * Fuzzes without end: every target for a slice of time, in turn, with new seeds. Ends with 1 at the first input that
 * breaks a promise, never ends or ends the process, and keeps it in `corpus/`.
 *
 * `npm run fuzz -- [--only NAME]… [--minutes N] [--slice SECONDS] [--seed N [--path PATH]]`
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { readPulse, readReports, roundVariable, type Report, type Round } from './round.ts'

/** A run that takes longer never ends: the dearest takes less than a second. */
const longestRunMs = 60_000
/** Memory of the process that fuzzes, in MiB. */
const memory = 2_048

const root = join(import.meta.dirname, '../..')
const { values: asked } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    minutes: { type: 'string', default: 'Infinity' },
    slice: { type: 'string', default: '10' },
    seed: { type: 'string' },
    path: { type: 'string' },
  },
})
const until = performance.now() + Number(asked.minutes) * 60_000
const folder = mkdtempSync(join(tmpdir(), 'modelgate-fuzz-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

let seed = asked.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(asked.seed)
do {
  console.log(`seed ${seed}`)
  const left = (until - performance.now()) / 1000
  const slice = Math.max(0.1, Math.min(Number(asked.slice), left))
  await runRound({
    folder,
    only: asked.only,
    seed,
    sliceMs: slice * 1000,
    path: asked.path,
    tellsInput: false,
  })
  // Far from the seeds of this round, which are one apart.
  seed = (seed + 1_000_003) % 2 ** 31
} while (asked.path === undefined && performance.now() < until)

/** Tells what comes of a round; ends the process when it fails. */
async function runRound(round: Round): Promise<void> {
  clear()
  const fuzzing = start(round)
  let told = 0
  const tellNew = () => {
    const reports = readReports(folder)
    for (const one of reports.slice(told)) tell(one)
    told = reports.length
  }
  let pulse = readPulse(folder)
  let lastBeat = performance.now()
  let isStuck = false
  while (fuzzing.status === undefined) {
    await Promise.race([fuzzing.ended, sleep(500)])
    tellNew()
    const now = readPulse(folder)
    if (now?.beat !== pulse?.beat || now?.seed !== pulse?.seed) lastBeat = performance.now()
    pulse = now
    isStuck = pulse !== undefined && performance.now() - lastBeat > longestRunMs
    if (isStuck) break
    // A slice ends by itself; those after it have to be ended.
    if (performance.now() > until + 5_000 && asked.path === undefined) return fuzzing.kill()
  }
  if (isStuck) fuzzing.kill()
  else if (fuzzing.status === 0) return
  const target = readReports(folder).findLast((one) => one.kind === 'begin')?.target
  if (target === undefined || pulse === undefined)
    return fail(`The fuzzing has not begun.\n${fuzzing.output()}`)
  const what = isStuck ? `has not ended in ${longestRunMs / 1000} s` : 'ended the process'
  await tellInput(target, what, { ...round, seed: pulse.seed, path: String(pulse.run) })
}

/** Reports of the round before would be taken for those of the next. */
function clear(): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
}

function start(round: Round) {
  const child = spawn(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', '--project', 'fuzz', '--bail', '1'],
    {
      cwd: root,
      // A group of its own, to be ended with all that it has started.
      detached: true,
      env: {
        ...process.env,
        NODE_OPTIONS: `--max-old-space-size=${memory}`,
        [roundVariable]: JSON.stringify(round),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text: Buffer) => (output = (output + text.toString()).slice(-4_000)))
  }
  const kill = () => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {
      // It has ended meanwhile.
    }
  }
  process.once('exit', kill)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
  const fuzzing = {
    status: undefined as number | null | undefined,
    ended: new Promise<void>((resolve) => {
      child.once('close', (status) => {
        fuzzing.status = status
        process.off('exit', kill)
        resolve()
      })
    }),
    output: () => output,
    kill,
  }
  return fuzzing
}

function tell(one: Report): void {
  if (one.kind === 'slice') {
    const perSecond = Math.round(one.runs / one.seconds)
    console.log(`${one.target}: ${one.runs} runs, ${perSecond}/s`)
  } else if (one.kind === 'failure') {
    keep(readReports(folder).findLast((begun) => begun.kind === 'begin')?.target, one.entry)
    fail(one.text)
  }
}

/** Of a run that has not come back, the input can only be made again. */
async function tellInput(target: string, what: string, round: Round): Promise<void> {
  clear()
  await start({ ...round, only: [target], tellsInput: true }).ended
  const [input] = readReports(folder)
  const again = `npm run fuzz -- --only ${target} --seed ${round.seed} --path ${round.path}`
  if (input?.kind !== 'input') return fail(`${target} ${what}.\nAgain: ${again}`)
  keep(target, input.entry)
  fail(`${target} ${what}.\nInput: ${input.text}\nAgain: ${again}`)
}

/** Adds what was found to the corpus, which the tests try first. */
function keep(target: string | undefined, entry: string | undefined): void {
  if (target === undefined || entry === undefined) return
  const file = join(import.meta.dirname, 'corpus', `${target}.json`)
  const known = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as unknown[]) : []
  const [added] = JSON.parse(entry) as [{ readonly input: unknown }]
  const isKnown = known.some(
    (one) => JSON.stringify((one as typeof added).input) === JSON.stringify(added.input),
  )
  if (isKnown) return
  mkdirSync(join(import.meta.dirname, 'corpus'), { recursive: true })
  writeFileSync(file, `${JSON.stringify([...known, added], null, 2)}\n`)
  console.error(`Kept in ${file}: commit it with the fix.`)
}

function fail(text: string): void {
  console.error(text)
  process.exit(1)
}
