import type { Random } from '../seeded-random.ts'

/**
 * How fast replies are: at once, like a model (first token after about 150 ms, then about 20 ms from event to event),
 * or that many milliseconds between events.
 */
export type LatencyProfile = 'none' | 'natural' | number

/** What a frame waits for; a number is milliseconds, whatever the profile. */
export type Pause = 'none' | 'first' | 'token' | number

/** Milliseconds to wait before a frame. */
export type Pace = (pause: Pause) => number

export function paceOf(latency: LatencyProfile, random: Random): Pace {
  const typical =
    latency === 'natural'
      ? { first: 150, token: 20 }
      : latency === 'none'
        ? { first: 0, token: 0 }
        : undefined
  return (pause) => {
    if (typeof pause === 'number') return pause
    if (pause === 'none') return 0
    return typical === undefined ? Number(latency) : typical[pause] * (0.6 + 0.8 * random())
  }
}
