import { calls } from '../faults/calls.ts'
import { casesOf, type FaultRow } from '../faults/row.ts'
import { faultRows } from '../faults/rows.ts'
import { markdownTable } from './markdown-table.ts'

const sections = ['A', 'B', 'C', 'D', 'E', 'F', 'G'] as const

/** The tables of docs/faults.md: one for each section, and one of what cannot be tried by the catalogue. */
export function faultTables(): Readonly<Record<string, string>> {
  const heading = ['#', 'fault', 'what happens', 'exit', 'calls']
  const tables = sections.map((letter) => {
    const rows = faultRows.filter(({ id }) => id.startsWith(letter)).toSorted(byNumber)
    return [`faults-${letter.toLowerCase()}`, markdownTable(heading, rows.map(cellsOf))] as const
  })
  const others = faultRows.filter(({ note }) => note !== undefined).toSorted(byNumber)
  const notes = others.map(({ id, fault, note = '' }) => [id, fault, note])
  return {
    ...Object.fromEntries(tables),
    'faults-elsewhere': markdownTable(['#', 'fault', 'where it is shown, or why it is not'], notes),
  }
}

/** Exit codes are those of single commands; the last cell is the number of calls at which the row is tried. */
function cellsOf(row: FaultRow): string[] {
  const cases = casesOf([row], calls)
  const exits = new Set(cases.map(({ expected }) => expected.exit))
  const tried = new Set(cases.map(({ call }) => call))
  const codes = [...exits].toSorted((one, other) => one - other).join(', ')
  return [row.id, row.fault, row.happens, codes, tried.size === 0 ? '' : String(tried.size)]
}

function byNumber(one: FaultRow, other: FaultRow): number {
  const [a, b] = [one.id, other.id]
  return a[0] === b[0] ? Number(a.slice(1)) - Number(b.slice(1)) : a < b ? -1 : 1
}
