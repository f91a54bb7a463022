import type { RunInstance } from '../../events/run-document.ts'
import { cellsOf } from '../cell-width.ts'
import { breakLine } from '../line-breaks.ts'
import type { Styles, Tone } from '../screen.ts'
import { type Columns, gap, oneLine, padded, shortened } from '../table-cells.ts'
import { words } from './run-lines.ts'

/** An instance name longer than this is cut on a terminal. */
const maxName = 40

/**
 * What is not fresh, and why: a line for each instance, and on a terminal its reasons below it. For scripts: state,
 * instance, creates, output and reasons, separated by tabs. Safe for a terminal; empty if everything is fresh.
 */
export function planTable(instances: readonly RunInstance[], columns: Columns, styles: Styles): string {
  const rows = instances.filter(({ state }) => state !== 'fresh')
  if (rows.length === 0) return ''
  const lines = columns === undefined ? rows.map(tabbedLine) : terminalLines(rows, columns, styles)
  return lines.map((line) => `${line}\n`).join('')
}

function tabbedLine({ state, instance, creates, output, reasons }: RunInstance): string {
  return [state, instance, String(creates), output, reasons.join(' ')].map(oneLine).join('\t')
}

function terminalLines(rows: readonly RunInstance[], columns: number, styles: Styles): string[] {
  const cells = rows.map(({ state, instance, creates, output }) => ({
    state: words(state),
    name: shortened(oneLine(instance), maxName),
    creates: creates === 0 ? '' : String(creates),
    output: oneLine(output),
  }))
  const heading = { state: 'STATE', name: 'INSTANCE', creates: 'CREATES', output: 'OUTPUT' }
  const widest = (name: keyof typeof heading) =>
    cells.reduce((most, row) => Math.max(most, cellsOf(row[name])), cellsOf(heading[name]))
  const widths = { state: widest('state'), name: widest('name'), creates: widest('creates') }
  const line = (row: typeof heading) => {
    const own = [
      padded(row.state, widths.state),
      padded(row.name, widths.name),
      row.creates.padStart(widths.creates),
      row.output,
    ]
    return shortened(own.join(gap).trimEnd(), columns)
  }
  const indent = ' '.repeat(Math.min(widths.state, Math.max(0, columns - 20)) + gap.length)
  const reasonLines = ({ reasons }: RunInstance) =>
    reasons.flatMap((reason) =>
      breakLine(oneLine(reason), Math.max(8, columns - indent.length)).map((part) => indent + part),
    )
  return [
    styles.dim(line(heading)),
    ...rows.flatMap((row, at) => [
      styles[toneOf(row)](line(cells[at]!)),
      ...reasonLines(row).map((reason) => styles.dim(reason)),
    ]),
  ]
}

/** What costs, what stands still, and what is free. */
function toneOf({ state }: RunInstance): Tone {
  if (state === 'restorable') return 'plain'
  return state === 'new' || state === 'stale' || state === 'unfetched' || state === 'pending'
    ? 'accent'
    : 'warning'
}
