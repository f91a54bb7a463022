import { sample } from '../../support/sample.ts'
import { calls } from '../calls.ts'
import { longCalls, ownCalls } from './own-calls.ts'
import { testTorture, type ChooseFaults } from './torture.ts'
import { testWorkerTorture } from './worker-torture.ts'

const someOfEach: ChooseFaults = (faults, call) =>
  sample(faults, 4, (fault) => `${call}, ${JSON.stringify(fault)}`)

testTorture([...calls, ...ownCalls], someOfEach)
// What the steps of these have in common is tried above.
testTorture(longCalls, (faults, call) =>
  someOfEach(
    faults.filter((_, at) => at % 7 === 0),
    call,
  ),
)
testWorkerTorture(someOfEach)
