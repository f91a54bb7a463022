import { testCuts } from './cuts.ts'

testCuts('FIN', 1)
