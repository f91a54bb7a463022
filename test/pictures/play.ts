/**
 * Runs one command of the built program on the terminal that this process has, with a clock of its own: time passes only
 * when nothing else is left to do, so that every run looks the same. Each step of time is told in a control sequence.
 */
import { createHook, executionAsyncId } from 'node:async_hooks'
import type * as Program from '../../src/main.ts'
import type { Clock } from '../../src/context.ts'
import { projectRoot } from '../support/generated-files.ts'
import { timeMark } from './record.ts'

const { main, systemContext } = (await import(new URL('dist/main.js', projectRoot).href)) as typeof Program

/** 22 November 2026. */
const start = Date.UTC(2026, 10, 22)
/** Real milliseconds without any work, after which nothing but time can go on. */
const quietMs = 12
/** What is under way outside of this thread. */
const busyResources = /^(?:FSReq|TCPConnect|Write|Shutdown|GetAddrInfo|Zlib|Worker|Process)/

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
let ownId = -1
createHook({
  after(id) {
    if (id !== ownId) lastWork = process.hrtime.bigint()
  },
}).enable()

function isQuiet(): boolean {
  const idleMs = Number(process.hrtime.bigint() - lastWork) / 1e6
  return idleMs >= quietMs && !process.getActiveResourcesInfo().some((name) => busyResources.test(name))
}

/** Goes to the next timer whenever all else has come to rest. */
function goOn(): void {
  ownId = executionAsyncId()
  if (isQuiet()) {
    const next = [...timers].sort((a, b) => a.due - b.due)[0]
    if (next !== undefined) {
      timers.delete(next)
      elapsed = Math.max(elapsed, next.due)
      process.stdout.write(timeMark(elapsed))
      next.callback()
      lastWork = process.hrtime.bigint()
    }
  }
  setTimeout(goOn, 1)
}

const context = { ...systemContext(), clock }
setTimeout(goOn, 1)
const code = await main(process.argv.slice(2), context)
await Promise.all([context.stdout.drain(), context.stderr.drain()])
process.exit(code)
