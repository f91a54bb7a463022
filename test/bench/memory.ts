import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { within, type Measurement } from './measurement.ts'
import { run } from './timing.ts'
import type { Workbench } from './workbench.ts'

/** The most memory that a command ever holds, in the middle of several runs, against a bar in MB. */
export function memory(
  workbench: Workbench,
  name: string,
  words: readonly string[],
  bar: number,
): Measurement {
  const peaks = Array.from({ length: 3 }, () => runWithPeak(workbench, words).peakMb)
  return within(name, peaks, bar)
}

/** Runs a command of Node once, and returns how long it took and the most memory that it held. */
export function runWithPeak(workbench: Workbench, [program, ...rest]: readonly string[]) {
  const file = join(workbench.folder, 'memory')
  const hook = join(import.meta.dirname, 'baselines/record-memory.js')
  const { ms } = run(workbench, [program!, '--import', hook, ...rest], 'ignore', { BENCH_MEMORY_FILE: file })
  return { ms, peakMb: Number(readFileSync(file, 'utf8')) / 1e6 }
}

/** What a process holds now, or the most that it has held so far, in MB; 0 once it has ended. */
export function processMb(pid: number, name: 'VmRSS' | 'VmHWM'): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1')
    const [, kibibytes = 0] = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status) ?? []
    return (Number(kibibytes) * 1024) / 1e6
  } catch {
    return 0
  }
}
