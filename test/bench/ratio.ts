import type { Measurement } from './measurement.ts'
import { median, type Pair } from './timing.ts'

/** Ours against a baseline: at most so many times as long. */
export function atMost(name: string, runs: Pair, bar: number): Measurement {
  const [ours, baseline] = [median(runs.ours), median(runs.baseline)]
  return {
    name,
    unit: 'ms',
    ours,
    baseline,
    figure: `${(ours / baseline).toFixed(2)} x`,
    bar: `<= ${bar} x`,
    isMet: ours <= bar * baseline,
    runs,
  }
}

/** Ours against a baseline: at least so many times faster. */
export function atLeast(name: string, runs: Pair, bar: number): Measurement {
  const [ours, baseline] = [median(runs.ours), median(runs.baseline)]
  return {
    name,
    unit: 'ms',
    ours,
    baseline,
    figure: `${(baseline / ours).toFixed(1)} x faster`,
    bar: `>= ${bar} x`,
    isMet: baseline >= bar * ours,
    runs,
  }
}
