import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Measurement } from './measurement.ts'
import { median, run } from './timing.ts'
import type { Workbench } from './workbench.ts'

/** The most memory that a command ever holds, in the middle of several runs, against a bar in MB. */
export function memory(
  workbench: Workbench,
  name: string,
  [program, ...rest]: readonly string[],
  bar: number,
): Measurement {
  const file = join(workbench.folder, 'memory')
  const hook = join(import.meta.dirname, 'baselines/record-memory.js')
  const peaks = Array.from({ length: 3 }, () => {
    run(workbench, [program!, '--import', hook, ...rest], 'ignore', { BENCH_MEMORY_FILE: file })
    return Number(readFileSync(file, 'utf8')) / 1e6
  })
  const ours = median(peaks)
  return {
    name,
    unit: 'MB',
    ours,
    figure: `${ours.toFixed(0)} MB`,
    bar: `<= ${bar} MB`,
    isMet: ours <= bar,
    runs: { ours: peaks },
  }
}
