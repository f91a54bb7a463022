import { calls } from '../calls.ts'
import { ownCalls } from './own-calls.ts'
import { testTorture } from './torture.ts'
import { testWorkerTorture } from './worker-torture.ts'

testTorture([...calls, ...ownCalls], 37)
testWorkerTorture(23)
