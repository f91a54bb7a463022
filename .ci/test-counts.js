// Prints "N passed, N failed" from the JSON reports of the test runner, and before it the ten slowest files and each failure
// once more: what the runner said of it stands hundreds of lines above. Runs on any Node.
import { readFileSync } from 'node:fs'

const files = process.argv.slice(2).flatMap((path) => read(path).testResults)
const tests = files.flatMap((file) =>
  file.assertionResults.map((test) => ({ ...test, name: `${file.name}: ${test.fullName}` })),
)
// One that has passed after all, in a second try, has failed once.
const isFailed = (test) => test.status === 'failed' || test.failureMessages.length > 0
const passed = tests.filter((test) => test.status === 'passed' && !isFailed(test))
const failed = tests.filter(isFailed)
const skipped = tests.filter((test) => test.status !== 'passed' && !isFailed(test))
// A file that could not even be loaded has failed without a single test.
const broken = files.filter((file) => file.status === 'failed' && file.assertionResults.length === 0)

const seconds = ({ startTime, endTime }) => (endTime - startTime) / 1000
const slowest = files.filter((file) => file.endTime).sort((a, b) => seconds(b) - seconds(a))
console.log('The ten slowest files, in seconds:')
for (const file of slowest.slice(0, 10)) console.log(`${seconds(file).toFixed(1).padStart(6)}  ${file.name}`)
console.log()
for (const { name } of skipped) console.log(`SKIPPED: ${name}`)
if (skipped.length > 0) console.log()
for (const file of broken) print(file.name, file.message)
for (const test of failed) print(test.name, test.failureMessages[0])
const counts = [`${passed.length} passed`, `${failed.length + broken.length} failed`]
if (skipped.length > 0) counts.push(`${skipped.length} skipped`)
console.log(counts.join(', '))
if (failed.length + broken.length > 0) process.exitCode = 1

function print(name, message = '') {
  console.log(`FAILED: ${name}\n${message.split('\n').slice(0, 8).join('\n')}\n`)
}

function read(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return {
      testResults: [
        { name: 'the test runner', status: 'failed', message: 'left no report', assertionResults: [] },
      ],
    }
  }
}
