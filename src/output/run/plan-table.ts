import type { RunInstance } from '../../events/run-document.ts'
import { breakLine } from '../line-breaks.ts'
import type { Styles, Tone } from '../screen.ts'
import { gap, oneLine, tabbedText, tableText, type Column, type Columns } from '../table-cells.ts'
import { words } from './run-lines.ts'

/** An instance name longer than this is cut on a terminal. */
const maxName = 40

const columnsOfPlan: readonly Column<RunInstance>[] = [
  { heading: 'STATE', cell: ({ state }) => words(state), tone: toneOf },
  { heading: 'INSTANCE', cell: ({ instance }) => instance, tone: toneOf, widest: maxName },
  {
    heading: 'CREATES',
    cell: ({ creates }) => (creates === 0 ? '' : String(creates)),
    tone: toneOf,
    align: 'right',
  },
  { heading: 'OUTPUT', cell: ({ output }) => output, tone: toneOf },
]

/**
 * What is not fresh, and why: a line for each instance, and on a terminal its reasons below it. For scripts: state,
 * instance, creates, output and reasons, separated by tabs. Safe for a terminal; empty if everything is fresh.
 */
export function planTable(instances: readonly RunInstance[], columns: Columns, styles: Styles): string {
  const rows = instances.filter(({ state }) => state !== 'fresh')
  if (columns === undefined) {
    return tabbedText(rows, ({ state, instance, creates, output, reasons }) => {
      return [state, instance, creates, output, reasons.join(' ')]
    })
  }
  const below = ({ reasons }: RunInstance, indent: string) => {
    const start = indent.slice(0, Math.max(gap.length, columns - 20))
    const room = Math.max(8, columns - start.length)
    return reasons.flatMap((reason) =>
      breakLine(oneLine(reason), room).map((part) => styles.dim(start + part)),
    )
  }
  return tableText(rows, columnsOfPlan, { columns, styles, below })
}

/** What costs, what stands still, and what is free. */
function toneOf({ state }: RunInstance): Tone {
  if (state === 'restorable') return 'plain'
  return state === 'new' || state === 'stale' || state === 'unfetched' || state === 'pending'
    ? 'accent'
    : 'warning'
}
