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

/** Ours against what somebody might use in its place, with no bar. */
export function beside(name: string, runs: Pair): Measurement {
  const { ours, baseline, ...common } = compared(name, runs)
  const figure =
    ours <= baseline ? `${(baseline / ours).toFixed(1)} x faster` : `${(ours / baseline).toFixed(2)} x`
  return { ...common, ours, baseline, figure, isMet: true }
}

function compared(name: string, runs: Pair) {
  return { name, unit: 'ms' as const, ours: median(runs.ours), baseline: median(runs.baseline), runs }
}
