import { testWithoutKey } from './canary-cases.ts'

// Each case with three of the nine spellings.
testWithoutKey(3)
