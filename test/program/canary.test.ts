import { testWithoutKey } from './canary-cases.ts'
import { testRunsWithoutKey } from './run-canary-cases.ts'

// Each case with one of the nine spellings.
testWithoutKey(9)
// Each spelling once.
testRunsWithoutKey(4)
