import { testWithoutKey } from './canary-cases.ts'
import { testRunsWithoutKey } from './run-canary-cases.ts'

// Each case with three of the nine spellings.
testWithoutKey(3)
testRunsWithoutKey(1)
