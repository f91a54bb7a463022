import { sample } from '../support/sample.ts'
import { testCuts } from './cuts.ts'

testCuts('FIN', (places, series) => sample(places, 1, (place) => `${series}, ${place}`))
