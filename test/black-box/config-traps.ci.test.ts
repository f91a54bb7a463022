import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { plantTraps } from '../support/config-traps.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { spawnProgram } from './spawn-program.ts'

test.each(['help exit-codes', 'completion bash', 'respond --sandbox --max-output-tokens 1 x'])(
  'no code of the working directory is run by %s',
  async (words) => {
    const folder = temporaryFolder()
    const project = join(folder, 'project')
    const evidence = join(folder, 'evidence')
    mkdirSync(project)
    mkdirSync(evidence)
    const traps = plantTraps([project, folder], evidence)
    const { exit } = await spawnProgram(words.split(' '), { cwd: project }).ended
    expect({ exit, sprung: traps.sprung() }).toEqual({ exit: 0, sprung: [] })
  },
)
