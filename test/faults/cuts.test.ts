import { testCuts } from './cuts.ts'

testCuts('FIN', 79)
testCuts('RST', 83)
