// For each line of standard input: `take` takes the ownership of FOLDER's manifest and prints "owner" or an error's code,
// `release` gives it back and prints "free". At the end of the input nothing is released.
import process from 'node:process'
import { createInterface } from 'node:readline'
import { systemClock, systemProcesses } from '../../../src/context.ts'
import { ModelgateError } from '../../../src/errors.ts'
import { takeOwnership, type Ownership } from '../../../src/pipeline/journal/owner.ts'
import { projectOf } from '../../../src/pipeline/project.ts'

const [path = ''] = process.argv.slice(2)
const context = { platform: process.platform, clock: systemClock, processes: systemProcesses }
let ownership: Ownership | undefined

async function answer(line: string): Promise<string> {
  if (line === 'release') {
    await ownership?.release()
    return 'free'
  }
  try {
    ownership = await takeOwnership(projectOf(path, false), context)
    return 'owner'
  } catch (error) {
    return error instanceof ModelgateError ? error.code : `a bug: ${error}`
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${await answer(line)}\n`)
}
