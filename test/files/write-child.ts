// Writes a file with every file system call numbered, and does at one of them what it is told to.
// node write-child.ts PATH force|keep ACTION STEP [RESCUE], where ACTION is kill-before, kill-after, an error's code,
// or rival-CODE: somebody else writes the file, and then the call fails with the code;
// and RESCUE the rescue folder.
// Prints {steps, saved, code, exit} as JSON.
import { writeFileSync } from 'node:fs'
import process from 'node:process'
import { openResultFile } from '../../src/files/open-atomic-file.ts'
import { ModelgateError } from '../../src/errors.ts'
import { hookFileSystem } from '../support/fs-faults.ts'
import { testContext } from '../support/test-context.ts'

const [path = '', force = 'keep', action = 'none', step = '-1', rescue] = process.argv.slice(2)
const steps: string[] = []

await hookFileSystem(async (name, call) => {
  const isChosen = steps.push(name) - 1 === Number(step)
  if (!isChosen) return await call()
  if (action === 'kill-before') process.kill(process.pid, 'SIGKILL')
  // A handle is closed even when closing it reports an error.
  if (action === 'kill-after' || name === 'handle.close') await call().catch(() => {})
  if (action === 'kill-after') process.kill(process.pid, 'SIGKILL')
  if (action.startsWith('rival-')) writeFileSync(path, 'theirs')
  throw Object.assign(new Error(`${action}: injected`), { code: action.replace('rival-', '') })
})

let result: object
try {
  const rescueFolder = rescue === undefined ? {} : { rescueFolder: rescue }
  const file = await openResultFile(testContext(), path, { force: force === 'force', ...rescueFolder })
  await file.write('new ')
  await file.write('content')
  result = { saved: await file.commit() }
} catch (error) {
  result =
    error instanceof ModelgateError ? { code: error.code, exit: error.exit } : { code: `a bug: ${error}` }
}
process.stdout.write(JSON.stringify({ steps, ...result }))
