// Prints "N passed, N failed" from the JSON report of the test runner, and before it each failure once more:
// what the runner said of it stands hundreds of lines above. Runs on any Node.
import { readFileSync } from 'node:fs'

const report = read(process.argv[2])
const skipped = report.numPendingTests + report.numTodoTests
// A file that could not even be loaded has failed without a single test.
const broken = report.testResults.filter(
  (file) => file.status === 'failed' && file.assertionResults.length === 0,
)
const failed = report.numFailedTests + broken.length
const counts = [`${report.numPassedTests} passed`, `${failed} failed`]
if (skipped > 0) counts.push(`${skipped} skipped`)
for (const file of report.testResults) {
  if (broken.includes(file)) print(`FAILED: ${file.name}`, file.message)
  for (const test of file.assertionResults) {
    const [failure] = test.failureMessages
    const name = `${file.name}: ${test.fullName}`
    if (test.status === 'failed') print(`FAILED: ${name}`, failure)
    // It has failed once all the same.
    else if (failure !== undefined) print(`UNSTEADY: ${name}`, failure)
  }
}
console.log(counts.join(', '))

function print(heading, message = '') {
  console.log(`${heading}\n${message.split('\n').slice(0, 8).join('\n')}\n`)
}

function read(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    // The runner did not get as far as a report.
    process.exitCode = 1
    return { numPassedTests: 0, numFailedTests: 1, numPendingTests: 0, numTodoTests: 0, testResults: [] }
  }
}
