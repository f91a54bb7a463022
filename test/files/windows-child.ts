// Replaces PATH as on Windows, where another program holds the file for the first COUNT renames.
// Prints {renames, waited, code}; `waited` is in milliseconds.
import process from 'node:process'
import { openAtomicFile } from '../../src/files/open-atomic-file.ts'
import { ModelgateError } from '../../src/errors.ts'
import { hookFileSystem } from '../support/fs-faults.ts'
import { testContext } from '../support/test-context.ts'

const [path = '', count = '0'] = process.argv.slice(2)
let renames = 0
await hookFileSystem(async (name, call) => {
  if (name !== 'rename' || ++renames > Number(count)) return await call()
  throw Object.assign(new Error('held'), { code: 'EPERM' })
})

const context = testContext({ platform: 'win32' })
const file = await openAtomicFile(context, path, { force: true })
await file.write('new')
const codes: string[] = []
void file.commit().then(
  () => codes.push('saved'),
  (error: unknown) => codes.push(error instanceof ModelgateError ? error.code : `a bug: ${error}`),
)
// Any other call of the file system takes a moment of real time, so time is moved on until the end is there.
while (codes.length === 0) await context.clock.advance(context.clock.pendingTimers === 0 ? 0 : 10)
process.stdout.write(JSON.stringify({ renames, waited: context.clock.monotonic(), code: codes[0] }))
