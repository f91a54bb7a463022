/** Makes thousands of calls of all kinds in this one process, and prints its memory in the course of it: URL, folder, calls. */
import { processMb } from './memory.ts'
import { mixedCalls } from '../program/mixed-calls.ts'

// What the build puts in.
Object.assign(globalThis, { __VERSION__: 'bench' })

const [url, folder, calls] = process.argv.slice(2)
const mixed = mixedCalls(url!, folder!)
const readings: number[] = []
for (let tenth = 0; tenth < 10; tenth++) {
  await mixed.make(Number(calls) / 10)
  readings.push(processMb(process.pid, 'VmRSS'))
}
if (mixed.pendingTimers > 0) throw new Error(`${mixed.pendingTimers} timers are left.`)
console.log(JSON.stringify(readings))
