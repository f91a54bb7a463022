import { testLoopsIn } from './loops-over-input.ts'

testLoopsIn(['bash'])
