import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { encodeEntry, type LogEntry } from '../../src/files/log/log-entry.ts'
import type { Measurement } from './measurement.ts'
import { median, run } from './timing.ts'
import { modelgate, type Workbench } from './workbench.ts'

const entries = 100_000
const maxMs = 300

const calls: readonly (readonly string[])[] = [
  ['log'],
  ['log', 'show', '1'],
  ['log', 'show', String(entries)],
  ['usage'],
  ['usage', '--by', 'day'],
]

/** How long a look into a log of 100,000 calls takes. */
export function measureLog(workbench: Workbench): Measurement[] {
  const folder = join(workbench.folder, 'long-log')
  mkdirSync(join(folder, 'log'), { recursive: true })
  const lines = Array.from({ length: entries }, (_, at) => `${encodeEntry(entryNumber(at))}\n`)
  writeFileSync(join(folder, 'log/2026-11.jsonl'), lines.join(''))
  const env = { MODELGATE_STATE_DIR: folder }
  return calls.map((words) => {
    const line = modelgate(...words)
    const times = Array.from({ length: 8 }, () => run(workbench, line, 'ignore', env).ms).slice(1)
    const ours = median(times)
    const name = `${words.join(' ')}, 100,000 calls`
    const figure = `${Math.round(ours)} ms`
    return {
      name,
      unit: 'ms',
      ours,
      figure,
      bar: `<= ${maxMs} ms`,
      isMet: ours <= maxMs,
      runs: { ours: times },
    }
  })
}

function entryNumber(at: number): LogEntry {
  const prompt = `Tell me about ferry ${at}`
  const text = 'The ferry leaves at seven, with room for bicycles on the lower deck. '.repeat(4 + (at % 8))
  return {
    version: 1,
    id: `log_${at.toString(16).padStart(16, '0')}`,
    time: new Date(Date.UTC(2026, 10, 1) + at * 15_000).toISOString(),
    duration_ms: 1_290,
    command: 'generate',
    cwd: '/home/someone/project',
    exit_code: 0,
    origin: 'https://gateway.example',
    model: 'text-model',
    request_id: `req_${at}`,
    finish_reason: 'stop',
    usage: { input_tokens: 5, cached_tokens: 0, output_tokens: 57, reasoning_tokens: null, total_tokens: 62 },
    files: [],
    arguments: ['generate', '-m', 'text-model', prompt],
    prompt,
    request: { contents: [{ role: 'user', parts: [{ text: prompt }] }] },
    reply: { text, content: { role: 'model', parts: [{ text }] } },
  }
}
