import { testWorkerTorture } from './worker-torture.ts'

testWorkerTorture(1)
