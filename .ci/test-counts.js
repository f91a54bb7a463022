// Prints "N passed, N failed" from the JSON report of the test runner; runs on any Node.
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
console.log(counts.join(', '))

function read(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    // The runner did not get as far as a report.
    process.exitCode = 1
    return { numPassedTests: 0, numFailedTests: 1, numPendingTests: 0, numTodoTests: 0, testResults: [] }
  }
}
