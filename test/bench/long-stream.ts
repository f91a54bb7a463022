import type { Measurement } from './measurement.ts'
import { memory } from './memory.ts'
import { MarkdownRenderer } from '../../src/output/markdown/renderer.ts'
import { hasCurl } from './peers.ts'
import { atLeast, atMost, beside } from './ratio.ts'
import { longContentStream, longText, markdownPieces, variants } from './replies.ts'
import { timeInTurns } from './timing.ts'
import { baseline, modelgate, type Workbench } from './workbench.ts'

const output = `${longText.trimEnd()} \n`
const maxMemoryMB = 100
/** What the log of a long answer may take. */
const logBar = 1.25

const streams = [
  { command: 'respond', model: 'bench-long-response', client: 'openai', bar: 6, otherBar: 4 },
  { command: 'generate', model: 'bench-long', client: 'genai', bar: 10, otherBar: 9 },
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
    const unlogged = ['env', 'MODELGATE_HISTORY=off', ...words]
    const logRuns = timeInTurns(workbench, { words, output }, { words: unlogged, output }, 9)
    return [
      atLeast(`${command}, 100,000 events / ${client}`, runs, bar),
      atMost(`${command}, 100,000 events / the same with no log`, logRuns, logBar),
      memory(workbench, `${command}, 100,000 events, most memory`, words, maxMemoryMB),
    ]
  })
}

/** Streams whose messages have other fields, or the same in another order: they are parsed. */
export function measureVariants(workbench: Workbench): Measurement[] {
  return variants.map(({ command, form, model }) => {
    const { client, otherBar } = streams.find((stream) => stream.command === command)!
    const runs = timeInTurns(
      workbench,
      { words: modelgate(command, '-m', model, 'Name rivers'), output },
      { words: baseline(`${client}-loop`, workbench.url, model, 'Name rivers'), output },
      5,
    )
    return atLeast(`${command}, 100,000 events, ${form} / ${client}`, runs, otherBar)
  })
}

/** The same stream as it comes over the wire. */
export function measureRawStream(workbench: Workbench): Measurement[] {
  if (!hasCurl(workbench)) return []
  const model = 'bench-long'
  const url = `${workbench.url}/v1beta/models/${model}:streamGenerateContent?alt=sse`
  const runs = timeInTurns(
    workbench,
    { words: modelgate('generate', '-m', model, 'Name rivers'), output },
    { words: ['curl', '-sN', '-d', '{}', url], output: longContentStream() },
    9,
  )
  return [beside('generate, 100,000 events / curl, which reads none of them', runs)]
}

/** The same number of events as Markdown, shown and as it is. */
export async function measureMarkdown(workbench: Workbench): Promise<Measurement[]> {
  const words = modelgate('generate', '-m', 'bench-markdown', 'Name rivers')
  let shown = ''
  const renderer = new MarkdownRenderer({
    columns: () => 80,
    isTerminal: false,
    colors: true,
    hyperlinks: false,
    write: (text) => void (shown += text),
  })
  renderer.push(markdownPieces.join(''))
  await renderer.settle()
  renderer.end()
  const text = markdownPieces.join('')
  const runs = timeInTurns(
    workbench,
    { words: [...words, '--render', 'always'], output: shown },
    { words, output: text.endsWith('\n') ? text : `${text}\n` },
    9,
  )
  return [atMost('generate, 100,000 events as Markdown / as they are', runs, 6)]
}
