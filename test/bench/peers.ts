import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { Measurement } from './measurement.ts'
import { beside } from './ratio.ts'
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
const peer = { name: 'ai-cli', version: '0.4.2', command: 'ai' } as const

/**
 * How long `--help` of another program takes. It speaks only to its own gateway, so nothing else can be compared.
 * The package is installed for this measurement, and not at all where the registry does not have it.
 */
export function measurePeers(workbench: Workbench): Measurement[] {
  const folder = join(workbench.folder, 'peer')
  const { name, version, command } = peer
  const wanted = `${name}@${version}`
  const words = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--ignore-scripts', wanted]
  if (spawnSync('npm', words, { timeout: 120_000 }).status !== 0) {
    skip(workbench, `Nothing is compared with ${wanted}, which cannot be installed from the registry here.`)
    return []
  }
  const theirs = [process.execPath, join(folder, 'node_modules/.bin', command), '--help']
  const contenders = [modelgate('--help'), theirs].map((contender) => ({
    words: contender,
    output: run(workbench, contender, 'pipe').stdout,
  }))
  return [beside(`--help / ${wanted}`, timeInTurns(workbench, contenders[0]!, contenders[1]!, 11))]
}
