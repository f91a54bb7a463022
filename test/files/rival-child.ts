// Opens PATH, says so, waits for a line, then writes TEXT and commits. Prints "saved" or the error's code.
import process from 'node:process'
import { openAtomicFile } from '../../src/files/atomic-file.ts'
import { ModelgateError } from '../../src/errors.ts'
import { testContext } from '../support/test-context.ts'

const [path = '', text = ''] = process.argv.slice(2)
const file = await openAtomicFile(testContext(), path, { force: false })
process.stdout.write('open\n')
await new Promise((resolve) => process.stdin.once('data', resolve))
process.stdin.destroy()
try {
  await file.write(text)
  await file.commit()
  process.stdout.write('saved\n')
} catch (error) {
  process.stdout.write(error instanceof ModelgateError ? `${error.code}\n` : `a bug: ${error}\n`)
}
