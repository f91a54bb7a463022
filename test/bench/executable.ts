import { statSync } from 'node:fs'
import { singleExecutable } from '../support/executable.ts'
import type { Measurement } from './measurement.ts'
import { atMost } from './ratio.ts'
import { run, timeInTurns } from './timing.ts'
import { modelgate, type Workbench } from './workbench.ts'

const startBar = 1.5
const packageBar = 1.1
const sizeBar = 1.1

/**
 * The single executable against the Node that is in it: how long it takes to start, and how large it is; and against
 * the package. Builds it first when the source is newer.
 */
export function measureExecutable(workbench: Workbench): Measurement[] {
  const executable = singleExecutable()
  const nothing = { words: [process.execPath, '-e', '0'], output: '' }
  const [help, version] = ['--help', '--version'].map((flag) => {
    const words = modelgate(flag)
    const { stdout } = run(workbench, words, 'pipe')
    return { packaged: { words, output: stdout }, own: { words: [executable, flag], output: stdout } }
  })
  return [
    atMost('executable --help / node -e 0', timeInTurns(workbench, help!.own, nothing, 21), startBar),
    atMost('executable --version / node -e 0', timeInTurns(workbench, version!.own, nothing, 21), startBar),
    atMost(
      'executable --help / package --help',
      timeInTurns(workbench, help!.own, help!.packaged, 21),
      packageBar,
    ),
    sizeOf(executable),
  ]
}

function sizeOf(executable: string): Measurement {
  const [ours, baseline] = [executable, process.execPath].map((path) => statSync(path).size / 1e6)
  return {
    name: 'executable, size / node',
    unit: 'MB',
    ours: ours!,
    baseline: baseline!,
    figure: `${(ours! / baseline!).toFixed(2)} x`,
    bar: `<= ${sizeBar} x`,
    isMet: ours! <= sizeBar * baseline!,
    runs: { ours: [ours!], baseline: [baseline!] },
  }
}
