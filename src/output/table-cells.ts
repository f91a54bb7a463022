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

export interface Column<Row> {
  readonly heading: string
  readonly cell: (row: Row) => string
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
  /** Of the table's width at most. */
  readonly below?: (row: Row, indent: string) => readonly string[]
}

/** Columns without anything in them are left out. No line is wider than the terminal, nor acts on it. */
export function tableText<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { columns: room, styles, below = () => [] }: TableOptions<Row>,
): string {
  if (rows.length === 0) return ''
  let shown = columns.flatMap((column) => {
    const { heading, cell, widest = Infinity } = column
    const cells = rows.map((row) => shortened(oneLine(cell(row)), widest))
    const width = Math.max(...[heading, ...cells].map(cellsOf))
    return cells.every((text) => text === '') ? [] : [{ ...column, cells, width }]
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
  const line = (
    textOf: (column: (typeof placed)[number]) => string,
    tones?: readonly (Tone | undefined)[],
  ) => {
    const cells = placed.map((column) => {
      const text = shortened(textOf(column), column.width)
      return column.align === 'right' ? text.padStart(column.width) : padded(text, column.width)
    })
    const plain = cells.join(gap).trimEnd()
    if (tones === undefined || styles === undefined || cellsOf(plain) > room) return shortened(plain, room)
    const toned = cells.map((text, at) => (tones[at] === undefined ? text : styles[tones[at]](text)))
    return toned.join(gap).trimEnd()
  }
  const indent = ' '.repeat((placed[0]?.width ?? 0) + gap.length)
  const lines = rows.flatMap((row, at) => [
    line(
      ({ cells }) => cells[at]!,
      placed.map(({ tone }) => tone?.(row)),
    ),
    ...below(row, indent),
  ])
  return [line(({ heading }) => heading), ...lines].map((text) => `${text}\n`).join('')
}

export function tabbedText<Row>(
  rows: readonly Row[],
  fieldsOf: (row: Row) => readonly (string | number | null)[],
): string {
  return rows
    .map(
      (row) =>
        `${fieldsOf(row)
          .map((field) => oneLine(String(field ?? '')))
          .join('\t')}\n`,
    )
    .join('')
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
  if (columns === undefined) return known.map(([name, value]) => `${name}\t${value}\n`).join('')
  const width = Math.max(...known.map(([name]) => name.length))
  return known.map(([name, value]) => wrapped(name, value, Math.min(width, columns - 20), columns)).join('')
}

/** Never broken, so that it can be pasted. */
export function commandText(name: string, line: string | null, columns: Columns): string {
  if (line === null) return ''
  return columns === undefined ? `${name}\t${oneLine(line)}\n` : `${name}\n${sanitise(line)}\n`
}

function wrapped(name: string, value: string, width: number, columns: number): string {
  const [first = '', ...rest] = breakLine(value, columns - width - gap.length)
  const lead = cellsOf(name) > width ? `${name}\n${' '.repeat(width)}` : padded(name, width)
  return [`${lead}${gap}${first}`, ...rest.map((line) => `${' '.repeat(width)}${gap}${line}`)]
    .map((line) => `${line}\n`)
    .join('')
}
