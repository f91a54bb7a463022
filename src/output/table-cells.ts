import { cellsOf, breakLine } from './line-breaks.ts'
import { sanitise } from './gate.ts'
import type { Styles, Tone } from './screen.ts'

/** Undefined for scripts, which get all fields, separated by tabs. */
export type Columns = number | undefined

export interface TableView {
  /** Unix seconds. */
  readonly now: number
  readonly columns: Columns
  readonly styles?: Styles | undefined
}

export const gap = '  '

export function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - cellsOf(text)))
}

export function shortened(text: string, width: number): string {
  if (cellsOf(text) <= width) return text
  let kept = ''
  for (const character of text) {
    if (cellsOf(kept + character) > width - 2) break
    kept += character
  }
  return width < 2 ? '' : `${kept}…`
}

export type Column<Row> = readonly [heading: string, cell: (row: Row) => string, options?: ColumnOptions<Row>]

interface ColumnOptions<Row> {
  /** Where there is no room, columns are left out in this order; those without it stay. */
  readonly dropOrder?: number
  readonly widest?: number
  /** The least width that is useful, for the column that takes what the others leave. */
  readonly least?: number
  readonly align?: 'right'
  readonly tone?: (row: Row) => Tone
}

interface TableOptions<Row> extends Pick<TableView, 'styles'> {
  readonly columns: number
  readonly below?: (row: Row, indent: string) => readonly string[]
}

/** Columns without anything in them are left out. No line is wider than the terminal, nor acts on it. */
export function tableText<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { columns: room, styles, below = () => [] }: TableOptions<Row>,
): string {
  if (rows.length === 0) return ''
  let shown = columns.flatMap(([heading, cell, options]) => {
    const cells = rows.map((row) => shortened(oneLine(cell(row)), options?.widest ?? Infinity))
    const width = Math.max(...[heading, ...cells].map(cellsOf))
    return cells.every((text) => text === '') ? [] : [{ ...options, heading, cells, width }]
  })
  const needed = () =>
    shown.reduce((sum, { width, least = width }) => sum + gap.length + Math.min(width, least), -gap.length)
  const droppable = shown.filter(({ dropOrder }) => dropOrder !== undefined)
  for (const column of droppable.toSorted((a, b) => a.dropOrder! - b.dropOrder!)) {
    if (needed() > room) shown = shown.filter((other) => other !== column)
  }
  const left = Math.max(0, room - needed())
  const placed = shown.map((column) => {
    const { width, least = width } = column
    return { ...column, width: Math.min(width, least + left) }
  })
  const line = (texts: readonly string[], row?: Row) => {
    const cells = placed.map(({ width, align }, at) => {
      const text = shortened(texts[at]!, width)
      return align === 'right' ? text.padStart(width) : padded(text, width)
    })
    const plain = cells.join(gap).trimEnd()
    if (row === undefined || styles === undefined || cellsOf(plain) > room) return shortened(plain, room)
    const toned = cells.map((text, at) => {
      const { tone } = placed[at]!
      return tone === undefined ? text : styles[tone(row)](text)
    })
    return toned.join(gap).trimEnd()
  }
  const head = line(placed.map(({ heading }) => heading))
  const indent = ' '.repeat((placed[0]?.width ?? 0) + gap.length)
  const lines = rows.flatMap((row, at) => {
    const cells = placed.map((column) => column.cells[at]!)
    return [line(cells, row), ...below(row, indent)]
  })
  return linesText([head, ...lines])
}

export function tabbedText<Row>(
  rows: readonly Row[],
  fieldsOf: (row: Row) => readonly (string | number | null)[],
): string {
  const line = (row: Row) => fieldsOf(row).map((field) => oneLine(String(field ?? '')))
  return linesText(rows.map((row) => line(row).join('\t')))
}

export function linesText(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('')
}

/** In one line, and safe for a terminal. */
export function oneLine(text: string): string {
  return sanitise(text.replaceAll(/\s+/g, ' ').trim())
}

/** In lines of words on a terminal; without rows whose value is null. Safe for a terminal. */
export function reportText(
  rows: readonly (readonly [name: string, value: string | null])[],
  columns: Columns,
): string {
  const known = rows.flatMap(([name, value]) => (value === null ? [] : [[name, oneLine(value)] as const]))
  if (columns === undefined) return linesText(known.map((row) => row.join('\t')))
  const width = Math.min(Math.max(...known.map(([name]) => name.length)), columns - 20)
  const indent = ' '.repeat(width + gap.length)
  const lines = known.map(([name, value]) => {
    const lead = cellsOf(name) > width ? `${name}\n${indent}` : padded(name, indent.length)
    return (
      lead +
      breakLine(indent + value, columns, indent)
        .join('\n')
        .slice(indent.length)
    )
  })
  return linesText(lines)
}

/** Never broken, so that it can be pasted. */
export function commandText(name: string, line: string | null, columns: Columns): string {
  if (line === null) return ''
  return columns === undefined ? `${name}\t${oneLine(line)}\n` : `${name}\n${sanitise(line)}\n`
}
