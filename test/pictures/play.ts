/**
 * Runs one command of the built program on the terminal that this process has, with a clock of its own: time passes only
 * when nothing else is left to do, so that every run looks the same. Each step of time is told in a control sequence.
 */
import { createHook, executionAsyncId } from 'node:async_hooks'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type * as Program from '../../src/main.ts'
import type { Clock } from '../../src/context.ts'
import { projectRoot } from '../support/generated-files.ts'
import { timeMark } from './record.ts'

const load = createRequire(projectRoot)
// As the launcher reads the files of the connection's parser.
load.extensions['.wasm'] = (module, path) => (module.exports = readFileSync(path))
const program: unknown = load('./dist/main.cjs')
const { main, systemContext } = program as typeof Program

/** 22 November 2026. */
const start = Date.UTC(2026, 10, 22)
/**
 * Real milliseconds without any work, after which nothing but time can go on; more before a great leap, for work that
 * nothing tells of, such as compiling WebAssembly.
 */
const quietMs = { step: 15, leap: 200 }
const leapMs = 250
/** Turns of the event loop without any work: in each of them what has come over a connection is seen. */
const quietTurns = 10
/** What is under way outside of this thread. */
const busyResources = /req|connect|write|shutdown|zlib|worker|process/i

interface PendingTimer {
  readonly due: number
  readonly callback: () => void
}

const timers = new Set<PendingTimer>()
let elapsed = 0
const clock: Clock = {
  now: () => start + elapsed,
  monotonic: () => elapsed,
  random: () => 0.5,
  timer(ms, callback) {
    const timer = { due: elapsed + Math.max(0, ms), callback }
    timers.add(timer)
    return { cancel: () => void timers.delete(timer) }
  },
}

let lastWork = process.hrtime.bigint()
let turns = 0
let ownId = -1
const noteWork = () => {
  lastWork = process.hrtime.bigint()
  turns = 0
}
createHook({
  after(id) {
    if (id !== ownId) noteWork()
  },
}).enable()

function isQuiet(ms: number): boolean {
  const idleMs = Number(process.hrtime.bigint() - lastWork) / 1e6
  const isBusy = process.getActiveResourcesInfo().some((name) => busyResources.test(name))
  return turns >= quietTurns && idleMs >= ms && !isBusy
}

/** Goes to the next timer whenever all else has come to rest. */
function goOn(): void {
  ownId = executionAsyncId()
  turns++
  const next = [...timers].sort((a, b) => a.due - b.due)[0]
  if (next !== undefined && isQuiet(next.due - elapsed > leapMs ? quietMs.leap : quietMs.step)) {
    timers.delete(next)
    elapsed = Math.max(elapsed, next.due)
    process.stdout.write(timeMark(elapsed))
    next.callback()
    noteWork()
  }
  setTimeout(goOn, 1)
}

const context = { ...systemContext(), clock }
setTimeout(goOn, 1)
const code = await main(process.argv.slice(2), context)
await Promise.all([context.stdout.drain(), context.stderr.drain()])
process.exit(code)
