import { markdownTable } from '../support/markdown-table.ts'

/** One line of the table: what was measured, against what, and how good it must be. */
export interface Measurement {
  readonly name: string
  readonly unit: 'ms' | 'MB'
  readonly ours: number
  /** Left out where the bar is a number of its own. */
  readonly baseline?: number
  /** What is held against the bar, as it is told: `1.10 x`, `+0.3 ms`. */
  readonly figure: string
  /** Left out where the figure is only to be known. */
  readonly bar?: string
  readonly isMet: boolean
  /** Every single run, in `unit`. */
  readonly runs: Pick<Pair, 'ours'> & Partial<Pair>
}

/** Every run of ours and of what it is compared with. */
export interface Pair {
  readonly ours: readonly number[]
  readonly baseline: readonly number[]
}

/** Ours against a baseline: at most so many times as much. */
export function atMost(name: string, runs: Pair, bar: number, unit: Measurement['unit'] = 'ms'): Measurement {
  const { ours, baseline } = medians(runs)
  const figure = `${(ours / baseline).toFixed(2)} x`
  return { name, unit, ours, baseline, runs, figure, bar: `<= ${bar} x`, isMet: ours <= bar * baseline }
}

/** Ours against a baseline: at least so many times faster. */
export function atLeast(name: string, runs: Pair, bar: number): Measurement {
  const { ours, baseline } = medians(runs)
  const figure = `${(baseline / ours).toFixed(1)} x faster`
  return { name, unit: 'ms', ours, baseline, runs, figure, bar: `>= ${bar} x`, isMet: baseline >= bar * ours }
}

/** Ours against what somebody might use in its place, with no bar. */
export function beside(name: string, runs: Pair): Measurement {
  const { ours, baseline } = medians(runs)
  const figure =
    ours <= baseline ? `${(baseline / ours).toFixed(1)} x faster` : `${(ours / baseline).toFixed(2)} x`
  return { name, unit: 'ms', ours, baseline, runs, figure, isMet: true }
}

/** The middle of several values, against a bar. */
export function within(
  name: string,
  values: readonly number[],
  bar: number,
  unit: Measurement['unit'] = 'MB',
): Measurement {
  const ours = median(values)
  const figure = `${ours.toFixed(0)} ${unit}`
  return { name, unit, ours, figure, bar: `<= ${bar} ${unit}`, isMet: ours <= bar, runs: { ours: values } }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const last = sorted.length - 1
  return (sorted[Math.floor(last / 2)]! + sorted[Math.ceil(last / 2)]!) / 2
}

const medians = ({ ours, baseline }: Pair) => ({ ours: median(ours), baseline: median(baseline) })

const headings = ['what', 'modelgate', 'compared with', 'takes', 'figure', 'bar', 'met']

/** The measurements as a table. */
export function tableOf(measurements: readonly Measurement[]): string {
  const amount = (value: number, unit: string) => `${value.toFixed(value < 10 ? 2 : 0)} ${unit}`
  const rows = measurements.map(({ name, unit, ours, baseline, figure, bar = '', isMet }) => {
    // The name of a ratio says what it is of.
    const [what, against = ''] = baseline === undefined ? [name] : name.split(/ \/ (?!.* \/ )/)
    const takes = baseline === undefined ? '' : amount(baseline, unit)
    return [what!, amount(ours, unit), against, takes, figure, bar, bar && (isMet ? 'yes' : 'no')]
  })
  return markdownTable(headings, rows)
}
