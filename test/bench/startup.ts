import { readFileSync } from 'node:fs'
import type { Measurement } from './measurement.ts'
import { atMost } from './ratio.ts'
import { timeInTurns } from './timing.ts'
import { modelgate, type Workbench } from './workbench.ts'

const bar = 1.25

/** How long `--version` takes, against a Node that does nothing. */
export function measureStartup(workbench: Workbench): Measurement {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  const runs = timeInTurns(
    workbench,
    { words: modelgate('--version'), output: `${version}\n` },
    { words: [process.execPath, '-e', '0'], output: '' },
    21,
  )
  return atMost('--version / node -e 0', runs, bar)
}
