import { cellsOf } from './cell-width.ts'
import { sanitise } from './gate.ts'
import { breakLine } from './line-breaks.ts'
import type { Styles } from './screen.ts'

/** The width of a terminal; undefined for scripts, which get all fields, separated by tabs. */
export type Columns = number | undefined

export interface TableView {
  /** Unix seconds. */
  readonly now: number
  readonly columns: Columns
  /** Colours for states and outcomes; only on a terminal. */
  readonly styles?: Styles | undefined
}

/** Between two columns. */
export const gap = '  '

/** Filled with spaces to a width. */
export function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - cellsOf(text)))
}

/** Cut to a width, with a sign that it was. */
export function shortened(text: string, width: number): string {
  if (cellsOf(text) <= width) return text
  let kept = ''
  for (const character of text) {
    if (cellsOf(kept + character) > width - 2) break
    kept += character
  }
  return width < 2 ? '' : `${kept}…`
}

/** In one line, and safe for a terminal. */
export function oneLine(text: string): string {
  return sanitise(text.replaceAll(/\s+/g, ' ').trim())
}

/**
 * A name and a value on each line, in lines of words on a terminal, separated by a tab for scripts; without those whose
 * value is null. Safe for a terminal.
 */
export function reportText(
  rows: readonly (readonly [name: string, value: string | null])[],
  columns: Columns,
): string {
  const known = rows.flatMap(([name, value]) => (value === null ? [] : [[name, oneLine(value)] as const]))
  if (columns === undefined) return known.map(([name, value]) => `${name}\t${value}\n`).join('')
  const width = Math.max(...known.map(([name]) => name.length))
  return known.map(([name, value]) => wrapped(name, value, Math.min(width, columns - 20), columns)).join('')
}

/** A command line on a line of its own, which is never broken, so that it can be pasted; empty for null. */
export function commandText(name: string, line: string | null, columns: Columns): string {
  if (line === null) return ''
  return columns === undefined ? `${name}\t${oneLine(line)}\n` : `${name}\n${sanitise(line)}\n`
}

/** A name, and its value in lines of words beside it. */
function wrapped(name: string, value: string, width: number, columns: number): string {
  const [first = '', ...rest] = breakLine(value, columns - width - gap.length)
  const lead = cellsOf(name) > width ? `${name}\n${' '.repeat(width)}` : padded(name, width)
  return [`${lead}${gap}${first}`, ...rest.map((line) => `${' '.repeat(width)}${gap}${line}`)]
    .map((line) => `${line}\n`)
    .join('')
}
