import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { singleExecutable } from '../support/executable.ts'
import { readPage } from '../support/pages.ts'
import { atMost, type Measurement } from './measurement.ts'
import { run, timeInTurns } from './timing.ts'
import { modelgate, type Workbench } from './workbench.ts'

const { version: number } = JSON.parse(readPage('package.json')) as { version: string }
const version = { words: modelgate('--version'), output: `${number}\n` }
const nothing = { words: [process.execPath, '-e', '0'], output: '' }

/** How long `--version` and `--help` take, against a Node that does nothing; and what TAB waits for, against `--version`. */
export function measureStartup(workbench: Workbench): Measurement[] {
  const help = helpCall(workbench)
  // The slowest of what the completion scripts ask for: it reads YAML.
  const words = modelgate('__complete', 'zsh', 'respond', '--profile', '')
  const completion = { words, output: 'work:gw.example\n' }
  const profiles = 'profiles:\n  work:\n    base_url: https://gw.example\n'
  writeFileSync(join(workbench.folder, 'config.yaml'), profiles)
  const configured = { ...workbench, env: { ...workbench.env, MODELGATE_CONFIG_DIR: workbench.folder } }
  return [
    atMost('--version / node -e 0', timeInTurns(workbench, version, nothing, 21), 1.25),
    atMost('--help / node -e 0', timeInTurns(workbench, help, nothing, 21), 1.4),
    atMost('TAB for a profile / --version', timeInTurns(configured, completion, version, 21), 1.5),
  ]
}

function helpCall(workbench: Workbench) {
  const words = modelgate('--help')
  return { words, output: run(workbench, words, 'pipe').stdout }
}

/**
 * The single executable against the Node that is in it: how long it takes to start, and how large it is; and against
 * the package. Builds it first when the source is newer.
 */
export function measureExecutable(workbench: Workbench): Measurement[] {
  const executable = singleExecutable()
  const help = helpCall(workbench)
  const ownHelp = { ...help, words: [executable, '--help'] }
  const ownVersion = { ...version, words: [executable, '--version'] }
  const sizeOf = (path: string) => [statSync(path).size / 1e6]
  const sizes = { ours: sizeOf(executable), baseline: sizeOf(process.execPath) }
  return [
    atMost('executable --help / node -e 0', timeInTurns(workbench, ownHelp, nothing, 21), 1.5),
    atMost('executable --version / node -e 0', timeInTurns(workbench, ownVersion, nothing, 21), 1.5),
    atMost('executable --help / package --help', timeInTurns(workbench, ownHelp, help, 21), 1.1),
    atMost('executable, size / node', sizes, 1.1, 'MB'),
  ]
}
