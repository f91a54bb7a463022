import type { Measurement } from './measurement.ts'
import { memory } from './memory.ts'
import { atLeast } from './ratio.ts'
import { longText } from './replies.ts'
import { timeInTurns } from './timing.ts'
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
    return [
      atLeast(`${command}, 100,000 events / ${client}`, runs, bar),
      memory(workbench, `${command}, 100,000 events, most memory`, words, maxMemoryMB),
    ]
  })
}
