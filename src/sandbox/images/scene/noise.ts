import type { Random } from '../../seeded-random.ts'

/** A smooth line of chance around 0, between about -1 and 1. */
export type Line = (place: number) => number

const samples = 256

/**
 * A ragged line such as a ridge: several smooth lines on top of each other, each twice as fine and half as high.
 * The coarse ones stay the same when finer ones are added.
 * @param octaves how many
 */
export function raggedLine(random: Random, octaves: number): Line {
  const heights = Array.from({ length: samples }, () => random() * 2 - 1)
  const start = random() * samples
  const smooth = (place: number) => {
    const floor = Math.floor(place)
    const share = place - floor
    const from = heights[((floor % samples) + samples) % samples]!
    const to = heights[(((floor + 1) % samples) + samples) % samples]!
    return from + (to - from) * share * share * (3 - 2 * share)
  }
  return (place) => {
    let sum = 0
    let weight = 1
    for (let octave = 0; octave < octaves; octave++) {
      sum += smooth(start + place * 2 ** octave + octave * 37.3) * weight
      weight /= 2
    }
    return sum / 1.6
  }
}
