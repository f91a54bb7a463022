import { testLoopsIn } from './loops-over-input.ts'

testLoopsIn(['dash', 'zsh'])
