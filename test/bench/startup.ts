import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Measurement } from './measurement.ts'
import { atMost } from './ratio.ts'
import { run, timeInTurns } from './timing.ts'
import { modelgate, type Workbench } from './workbench.ts'

const versionBar = 1.25
const helpBar = 1.4
const completionBar = 1.5

/** How long `--version` and `--help` take, against a Node that does nothing; and what TAB waits for, against `--version`. */
export function measureStartup(workbench: Workbench): Measurement[] {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  const nothing = { words: [process.execPath, '-e', '0'], output: '' }
  const versionCall = { words: modelgate('--version'), output: `${version}\n` }
  const helpWords = modelgate('--help')
  const helpCall = { words: helpWords, output: run(workbench, helpWords, 'pipe').stdout }
  // The slowest of what the completion scripts ask for: it reads YAML.
  const completionCall = {
    words: modelgate('__complete', 'zsh', 'respond', '--profile', ''),
    output: 'work:gw.example\n',
  }
  return [
    atMost('--version / node -e 0', timeInTurns(workbench, versionCall, nothing, 21), versionBar),
    atMost('--help / node -e 0', timeInTurns(workbench, helpCall, nothing, 21), helpBar),
    atMost(
      'TAB for a profile / --version',
      timeInTurns(withProfiles(workbench), completionCall, versionCall, 21),
      completionBar,
    ),
  ]
}

function withProfiles(workbench: Workbench): Workbench {
  const folder = join(workbench.folder, 'profiles')
  mkdirSync(folder)
  writeFileSync(join(folder, 'config.yaml'), 'profiles:\n  work:\n    base_url: https://gw.example\n')
  return { ...workbench, env: { ...workbench.env, MODELGATE_CONFIG_DIR: folder } }
}
