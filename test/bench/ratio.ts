import type { Measurement } from './measurement.ts'
import { median, type Pair } from './timing.ts'

/** Ours against a baseline: at most so many times as long. */
export function atMost(name: string, runs: Pair, bar: number): Measurement {
  const { ours, baseline, ...common } = compared(name, runs)
  const figure = `${(ours / baseline).toFixed(2)} x`
  return { ...common, ours, baseline, figure, bar: `<= ${bar} x`, isMet: ours <= bar * baseline }
}

/** Ours against a baseline: at least so many times faster. */
export function atLeast(name: string, runs: Pair, bar: number): Measurement {
  const { ours, baseline, ...common } = compared(name, runs)
  const figure = `${(baseline / ours).toFixed(1)} x faster`
  return { ...common, ours, baseline, figure, bar: `>= ${bar} x`, isMet: baseline >= bar * ours }
}

function compared(name: string, runs: Pair) {
  return { name, unit: 'ms' as const, ours: median(runs.ours), baseline: median(runs.baseline), runs }
}
