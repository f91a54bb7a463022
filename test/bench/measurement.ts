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
  readonly runs: { readonly ours: readonly number[]; readonly baseline?: readonly number[] }
}

/** The measurements as a table. */
export function tableOf(measurements: readonly Measurement[]): string {
  const rows = [
    ['what', 'ours', 'baseline', 'figure', 'bar', ''],
    ...measurements.map(({ name, unit, ours, baseline, figure, bar, isMet }) => [
      name,
      amount(ours, unit),
      baseline === undefined ? '' : amount(baseline, unit),
      figure,
      bar ?? '',
      bar === undefined ? '' : isMet ? 'ok' : 'MISSED',
    ]),
  ]
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => pad(cell, widths[column]!, column))
        .join('   ')
        .trimEnd(),
    )
    .join('\n')
}

function pad(cell: string, width: number, column: number): string {
  return column === 0 || column === 5 ? cell.padEnd(width) : cell.padStart(width)
}

/** A value with its unit. */
export function amount(value: number, unit: string): string {
  return `${value.toFixed(value < 10 ? 2 : 0)} ${unit}`
}
