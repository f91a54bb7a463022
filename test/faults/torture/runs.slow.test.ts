import { calls } from '../calls.ts'
import { ownCalls } from './own-calls.ts'
import { testTorture } from './torture.ts'

testTorture(
  [...calls, ...ownCalls].filter(({ argv }) => argv[0] === 'run'),
  1,
)
