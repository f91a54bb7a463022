// Appends COUNT entries to the log in FOLDER, and prints the id of each once it is written: node append-child.ts FOLDER COUNT NAME
import process from 'node:process'
import { appendEntry } from '../../../src/files/log/log-file.ts'

const [folder = '', count = '', name = ''] = process.argv.slice(2)
const now = Date.UTC(2026, 10, 22)
for (let at = 0; at < Number(count); at++) {
  const id = `log_${name.padStart(8, '0')}${at.toString(16).padStart(8, '0')}`
  // Some are so long that a kill can tear them.
  const text = `${id} `.repeat(at % 50 === 7 ? 40_000 : 20 + (at % 30))
  const entry = {
    version: 1,
    id,
    time: new Date(now).toISOString(),
    duration_ms: 0,
    command: 'generate',
    cwd: '/',
    exit_code: 0,
    files: [],
    arguments: [],
    reply: { text },
  }
  await appendEntry(folder, entry, { now, clean: (json) => json })
  await new Promise((resolve) => process.stdout.write(`${id}\n`, resolve))
}
