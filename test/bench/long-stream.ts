import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Measurement } from './measurement.ts'
import { atLeast } from './ratio.ts'
import { longText } from './replies.ts'
import { median, run, timeInTurns } from './timing.ts'
import { baseline, modelgate, type Workbench } from './workbench.ts'

const output = `${longText.trimEnd()} \n`
const maxMemoryMB = 100

const streams = [
  { command: 'respond', model: 'bench-long-response', client: 'openai', bar: 5 },
  { command: 'generate', model: 'bench-long', client: 'genai', bar: 10 },
] as const

/** Streams of 100,000 events, against the same loop over the official clients; and the memory they take. */
export function measureLongStreams(workbench: Workbench): Measurement[] {
  return streams.flatMap(({ command, model, client, bar }) => {
    const words = modelgate(command, '-m', model, 'Name rivers')
    const runs = timeInTurns(
      workbench,
      { words, output },
      { words: baseline(`${client}-loop`, workbench.url, model, 'Name rivers'), output },
      9,
    )
    return [atLeast(`${command}, 100,000 events / ${client}`, runs, bar), memoryOf(workbench, command, words)]
  })
}

function memoryOf(workbench: Workbench, command: string, words: readonly string[]): Measurement {
  const file = join(workbench.folder, 'memory')
  const hook = join(import.meta.dirname, 'baselines/record-memory.js')
  const [program, ...rest] = words
  const runs = Array.from({ length: 3 }, () => {
    run(workbench, [program!, '--import', hook, ...rest], 'ignore', { BENCH_MEMORY_FILE: file })
    return Number(readFileSync(file, 'utf8')) / 1e6
  })
  const ours = median(runs)
  return {
    name: `${command}, 100,000 events, most memory`,
    unit: 'MB',
    ours,
    figure: `${ours.toFixed(0)} MB`,
    bar: `<= ${maxMemoryMB} MB`,
    isMet: ours <= maxMemoryMB,
    runs: { ours: runs },
  }
}
