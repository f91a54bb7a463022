import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Measurement } from './measurement.ts'
import { median, run } from './timing.ts'
import type { Workbench } from './workbench.ts'

/** The most memory that a command ever holds, in the middle of several runs, against a bar in MB. */
export function memory(
  workbench: Workbench,
  name: string,
  words: readonly string[],
  bar: number,
): Measurement {
  const peaks = Array.from({ length: 3 }, () => runWithPeak(workbench, words).peakMb)
  return memoryWithin(name, peaks, bar)
}

/** Runs a command of Node once, and returns how long it took and the most memory that it held. */
export function runWithPeak(
  workbench: Workbench,
  [program, ...rest]: readonly string[],
): { readonly ms: number; readonly peakMb: number } {
  const file = join(workbench.folder, 'memory')
  const hook = join(import.meta.dirname, 'baselines/record-memory.js')
  const { ms } = run(workbench, [program!, '--import', hook, ...rest], 'ignore', { BENCH_MEMORY_FILE: file })
  return { ms, peakMb: Number(readFileSync(file, 'utf8')) / 1e6 }
}

/** The middle of several peaks in MB, against a bar. */
export function memoryWithin(name: string, peaks: readonly number[], bar: number): Measurement {
  return within(name, peaks, bar, 'MB')
}

/** The middle of several values, against a bar. */
export function within(
  name: string,
  values: readonly number[],
  bar: number,
  unit: Measurement['unit'],
): Measurement {
  const ours = median(values)
  const figure = `${ours.toFixed(0)} ${unit}`
  return { name, unit, ours, figure, bar: `<= ${bar} ${unit}`, isMet: ours <= bar, runs: { ours: values } }
}

/** What a process holds now, in MB; 0 once it has ended. */
export function residentMb(pid: number): number {
  return statusMb(pid, 'VmRSS')
}

/** The most that a process has held so far, in MB; 0 once it has ended. */
export function peakMb(pid: number): number {
  return statusMb(pid, 'VmHWM')
}

function statusMb(pid: number, name: 'VmRSS' | 'VmHWM'): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1')
    const [, kibibytes] = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status) ?? []
    return (Number(kibibytes ?? 0) * 1024) / 1e6
  } catch {
    return 0
  }
}
