import { testWithoutKey } from './canary-cases.ts'

// Each case with one of the nine spellings.
testWithoutKey(9)
