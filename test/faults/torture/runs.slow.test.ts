import { calls } from '../calls.ts'
import { longCalls, ownCalls } from './own-calls.ts'
import { testTorture } from './torture.ts'

testTorture(
  [...calls, ...ownCalls].filter(({ argv }) => argv[0] === 'run'),
  1,
)
// What its steps have in common is tried above.
testTorture(longCalls, 7)
