import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { beside, type Measurement } from './measurement.ts'
import { run, timeInTurns } from './timing.ts'
import { modelgate, type Workbench } from './workbench.ts'

const skip = ({ skipped }: Workbench, sentence: string) => {
  if (!skipped.includes(sentence)) skipped.push(sentence)
}

/** Whether curl is there; what is compared with it is left out by name where it is not. */
export function hasCurl(workbench: Workbench): boolean {
  const isThere = spawnSync('curl', ['--version']).status === 0
  if (!isThere) skip(workbench, 'Nothing is compared with curl, which this machine lacks.')
  return isThere
}

/** The nearest program of its kind: text, images and videos over one gateway. */
const peer = 'ai-cli@0.4.2'

/**
 * How long `--help` of another program takes. It speaks only to its own gateway, so nothing else can be compared.
 * The package is installed for this measurement, and not at all where the registry does not have it.
 */
export function measurePeers(workbench: Workbench): Measurement[] {
  const folder = join(workbench.folder, 'peer')
  const words = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--ignore-scripts', peer]
  if (spawnSync('npm', words, { timeout: 120_000 }).status !== 0) {
    skip(workbench, `Nothing is compared with ${peer}, which cannot be installed from the registry here.`)
    return []
  }
  const theirs = [process.execPath, join(folder, 'node_modules/.bin/ai'), '--help']
  const call = (words: readonly string[]) => ({ words, output: run(workbench, words, 'pipe').stdout })
  return [beside(`--help / ${peer}`, timeInTurns(workbench, call(modelgate('--help')), call(theirs), 11))]
}
