import { spawn } from 'node:child_process'
import { createMarkdownRenderer } from '../../src/output/markdown/renderer.ts'
import { atLeast, atMost, beside, median, type Measurement } from './measurement.ts'
import { memory } from './memory.ts'
import { hasCurl } from './peers.ts'
import { longContentStream, longText, markdownPieces, variants } from './replies.ts'
import { timeInTurns } from './timing.ts'
import { baseline, contentUrl, modelgate, type Workbench } from './workbench.ts'

const output = `${longText.trimEnd()} \n`
const prompt = 'Name rivers'

const streams = [
  { command: 'respond', model: 'bench-long-response', client: 'openai', bar: 6, otherBar: 4 },
  { command: 'generate', model: 'bench-long', client: 'genai', bar: 10, otherBar: 9 },
] as const

/** Streams of 100,000 events, against the same loop over the official clients; and the memory they take. */
export function measureLongStreams(workbench: Workbench): Measurement[] {
  return streams.flatMap(({ command, model, client, bar }) => {
    const words = modelgate(command, '-m', model, prompt)
    const against = (other: readonly string[]) =>
      timeInTurns(workbench, { words, output }, { words: other, output }, 9)
    const runs = against(baseline(`${client}-loop`, workbench.url, model, prompt))
    const logRuns = against(['env', 'MODELGATE_HISTORY=off', ...words])
    return [
      atLeast(`${command}, 100,000 events / ${client}`, runs, bar),
      // What the log of a long answer may take.
      atMost(`${command}, 100,000 events / the same with no log`, logRuns, 1.25),
      memory(workbench, `${command}, 100,000 events, most memory`, words, 100),
    ]
  })
}

/** Streams whose messages have other fields, or the same in another order: they are parsed. */
export function measureVariants(workbench: Workbench): Measurement[] {
  return variants.map(({ command, form, model }) => {
    const { client, otherBar } = streams.find((stream) => stream.command === command)!
    const ours = { words: modelgate(command, '-m', model, prompt), output }
    const theirs = { words: baseline(`${client}-loop`, workbench.url, model, prompt), output }
    const runs = timeInTurns(workbench, ours, theirs, 5)
    return atLeast(`${command}, 100,000 events, ${form} / ${client}`, runs, otherBar)
  })
}

/** The same stream as it comes over the wire. */
export function measureRawStream(workbench: Workbench): Measurement[] {
  if (!hasCurl(workbench)) return []
  const ours = { words: modelgate('generate', '-m', 'bench-long', prompt), output }
  const words = ['curl', '-sN', '-d', '{}', contentUrl(workbench, 'bench-long')]
  const runs = timeInTurns(workbench, ours, { words, output: longContentStream() }, 9)
  return [beside('generate, 100,000 events / curl, which reads none of them', runs)]
}

/** The same number of events as Markdown, shown and as it is. */
export async function measureMarkdown(workbench: Workbench): Promise<Measurement[]> {
  const words = modelgate('generate', '-m', 'bench-markdown', prompt)
  const text = markdownPieces.join('')
  let shown = ''
  const renderer = createMarkdownRenderer({
    columns: () => 80,
    isTerminal: false,
    colors: true,
    hyperlinks: false,
    write: (text) => void (shown += text),
  })
  renderer.push(text)
  await renderer.settle()
  renderer.end()
  const rendered = { words: [...words, '--render', 'always'], output: shown }
  const plain = { words, output: text.endsWith('\n') ? text : `${text}\n` }
  const runs = timeInTurns(workbench, rendered, plain, 9)
  return [atMost('generate, 100,000 events as Markdown / as they are', runs, 6)]
}

const maxAddedMs = 1

/** What is added between the server's write and standard output, over curl -N; none where there is no curl. */
export async function measureLatency(workbench: Workbench): Promise<Measurement[]> {
  if (!hasCurl(workbench)) return []
  const words = modelgate('generate', '-m', 'bench-paced', prompt)
  const curl = ['curl', '-N', '-s', '-d', '{}', contentUrl(workbench, 'bench-paced')]
  const runs = { ours: [] as number[], baseline: [] as number[] }
  for (let turn = 0; turn < 3; turn++) {
    runs.ours.push(...(await delaysOf(workbench, words)))
    runs.baseline.push(...(await delaysOf(workbench, curl)))
  }
  const [ours, baseline] = [median(runs.ours), median(runs.baseline)]
  const added = ours - baseline
  const figure = `${added < 0 ? '' : '+'}${added.toFixed(2)} ms`
  const facts = { figure, bar: `<= +${maxAddedMs} ms`, isMet: added <= maxAddedMs, runs }
  return [{ name: 'delay of a word / curl -N', unit: 'ms', ours, baseline, ...facts }]
}

/** Milliseconds from the server's write of each word to its arrival here. */
async function delaysOf(
  { env, folder }: Workbench,
  [program, ...args]: readonly string[],
): Promise<number[]> {
  const child = spawn(program!, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const delays: number[] = []
  let rest = ''
  child.stdout.setEncoding('utf8')
  child.stdout.on('data', (text: string) => {
    const now = process.hrtime.bigint()
    rest += text
    for (const [, written] of rest.matchAll(/at=(\d+);/g)) delays.push(Number(now - BigInt(written!)) / 1e6)
    rest = rest.slice(rest.lastIndexOf(';') + 1)
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  if (code !== 0 || delays.length === 0)
    throw new Error(`${program} ended with ${code} after ${delays.length} words`)
  return delays
}
