import { sample } from '../support/sample.ts'
import { testCuts } from './cuts.ts'

testCuts('RST', (places, series) => sample(places, { quick: 1, ci: 2 }, (place) => `${series}, ${place}`))
