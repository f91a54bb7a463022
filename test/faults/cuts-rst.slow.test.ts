import { testCuts } from './cuts.ts'

testCuts('RST', 1)
