import { join } from 'node:path'
import { sealedLine } from '../../src/files/sealed-lines.ts'
import { writeFiles } from '../support/temporary-folder.ts'
import { within, type Measurement } from './measurement.ts'
import { run } from './timing.ts'
import { modelgate, type Workbench } from './workbench.ts'

const entries = 100_000

const idOf = (at: number) => (at * 40_503).toString(16).padStart(16, '0')

const calls = [
  ['log'],
  ['log', 'show', idOf(0)],
  ['usage'],
  ['usage', '--by', 'day'],
  ['jobs'],
  ['generate', '--base-url', 'https://gateway.example', '--dry-run', '-c', 'And?'],
]

/** How long a look into the records of 100,000 calls takes. */
export function measureLog(workbench: Workbench): Measurement[] {
  const folder = join(workbench.folder, 'long-log')
  const lines = Array.from({ length: entries }, (_, at) => recordOf(at, workbench.folder))
  const parts = [{ text: 'Tell me about ferries' }]
  const words = {
    request: { contents: [{ role: 'user', parts }] },
    reply: { content: { role: 'model', parts } },
  }
  writeFiles(join(folder, 'calls'), {
    '2026-11.jsonl': lines.join(''),
    version: '1\n',
    [`words/${idOf(entries - 1)}.json`]: JSON.stringify(words),
  })
  const env = { MODELGATE_STATE_DIR: folder }
  return calls.map((words) => {
    const line = modelgate(...words)
    const times = Array.from({ length: 8 }, () => run(workbench, line, 'ignore', env).ms).slice(1)
    return within(`${words.join(' ')}, 100,000 calls`, times, 300, 'ms')
  })
}

function recordOf(at: number, cwd: string): string {
  const began = Date.UTC(2026, 10, 1) + at * 15_000
  const [time, end] = [began, began + 1_290].map((ms) => new Date(ms).toISOString())
  const id = idOf(at)
  const start = { command: 'generate', cwd, origin: 'https://gateway.example', model: 'text-model' }
  const counted = { count: 1, amount: '0.0012', currency: 'USD', of: 'text' }
  const facts = {
    time,
    duration_ms: 1_290,
    ...start,
    exit_code: 0,
    request_id: `req_${at}`,
    finish_reason: 'stop',
    usage: { input_tokens: 5, cached_tokens: 0, output_tokens: 57, reasoning_tokens: null, total_tokens: 62 },
    files: [],
  }
  return [
    { id, at: time, type: 'begin', ...counted, ...start },
    { id, at: end, type: 'end', ...facts },
  ]
    .map((line) => sealedLine(JSON.stringify(line)))
    .join('')
}
