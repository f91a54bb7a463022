import { calls } from '../calls.ts'
import { ownCalls } from './own-calls.ts'
import { testTorture } from './torture.ts'

testTorture([...calls, ...ownCalls], 37)
