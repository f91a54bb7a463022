import { cellsOf } from '../cell-width.ts'
import { sanitise } from '../gate.ts'
import { dressed, plainLook, type Look } from './line-writer.ts'
import type { Alignment } from './table-rows.ts'

/** A piece of a cell's text, and how it looks. */
export interface CellRun {
  readonly text: string
  readonly look: Look
}
export type Cell = readonly CellRun[]

/** How a table is drawn: its columns are side by side, or, where there is no room for them, each row is a list. */
export interface TableLayout {
  /** The head, with the line below it. */
  head(cells: readonly Cell[]): string[]
  row(cells: readonly Cell[]): string[]
}

const gap = ' │ '
/** Narrower than this, words are cut so often that a list is easier to read. */
const minWidth = 8
/** Cells that a column of text is wider than its first rows need. */
const maxSlack = 6
const minText = 4

/**
 * @param rows those that the widths are chosen from
 * @param room cells that a row may take
 * @param lineLook how lines look
 * @param firstWidth the least width of the first column
 */
export function createTableLayout(
  head: readonly Cell[],
  rows: readonly (readonly Cell[])[],
  alignments: readonly Alignment[],
  room: number,
  lineLook: Look,
  firstWidth = 0,
): TableLayout {
  const wished = head.map((cell, index) =>
    Math.max(
      1,
      index === 0 ? firstWidth : 0,
      ...[cell, ...rows.map((row) => row[index] ?? [])].map(widthOfCell),
    ),
  )
  const widths = fit(wished, alignments, room - gap.length * (head.length - 1))
  if (widths === undefined) return createRecords(head, room, lineLook)
  const bar = dressed(gap, lineLook)
  const row = (cells: readonly Cell[]): string[] => {
    const columns = widths.map((width, index) => wrapCell(cells[index] ?? [], width))
    const height = Math.max(1, ...columns.map(({ length }) => length))
    return Array.from({ length: height }, (_, line) =>
      columns
        .map((lines, index) => {
          const isLast = index === columns.length - 1
          return aligned(lines[line] ?? [], widths[index]!, alignments[index] ?? 'left', isLast)
        })
        .join(bar),
    )
  }
  return {
    row,
    head: (cells) => [...row(cells), dressed(widths.map((width) => '─'.repeat(width)).join('─┼─'), lineLook)],
  }
}

/** The widths of columns that together have so much room; undefined where that is too little for words. */
function fit(
  wished: readonly number[],
  alignments: readonly Alignment[],
  room: number,
): number[] | undefined {
  const sum = (widths: readonly number[]) => widths.reduce((total, width) => total + width, 0)
  const spare = room - sum(wished)
  // Rows that are still to come may have longer cells.
  if (spare >= 0) return withSlack(wished, alignments, spare)
  let widths = [...wished]
  for (let most = Math.max(...wished); sum(widths) > room; most--) {
    if (most < minWidth) return undefined
    widths = wished.map((width) => Math.min(width, most))
  }
  // What is left over goes to those that were cut.
  for (let index = 0, left = room - sum(widths); left > 0; index = (index + 1) % widths.length) {
    if (widths[index]! >= wished[index]!) continue
    widths[index]!++
    left--
  }
  return widths
}

/** Text first, and of it the shortest: a long word hurts it most. */
function withSlack(wished: readonly number[], alignments: readonly Alignment[], spare: number): number[] {
  const widths = [...wished]
  const wishes = wished.map((width, index) => {
    const isText = alignments[index] === 'left' && width >= minText
    return { index, isText, cells: isText ? Math.min(maxSlack, Math.ceil(width / 3)) : 2 }
  })
  wishes.sort((a, b) => Number(b.isText) - Number(a.isText) || a.cells - b.cells)
  let left = spare
  for (const { index, cells } of wishes) {
    const given = Math.min(cells, left)
    widths[index]! += given
    left -= given
  }
  return widths
}

/** One line for each cell, behind the head of its column. */
function createRecords(head: readonly Cell[], room: number, lineLook: Look): TableLayout {
  let isFirst = true
  return {
    head: () => [],
    row(cells) {
      const lines = head.flatMap((name, index) => {
        const cell = cells[index] ?? []
        if (cell.length === 0) return []
        const named = [...name, { text: ': ', look: plainLook }, ...cell]
        return wrapCell(named, room).map((line) => line.map(({ text, look }) => dressed(text, look)).join(''))
      })
      const rule = isFirst ? [] : [dressed('─'.repeat(Math.min(room, 8)), lineLook)]
      isFirst = false
      return [...rule, ...lines]
    },
  }
}

function widthOfCell(cell: Cell): number {
  const lines = cell
    .map(({ text }) => text)
    .join('')
    .split('\n')
  return Math.max(...lines.map(cellsOf))
}

function aligned(line: Cell, width: number, alignment: Alignment, isLast: boolean): string {
  const free = Math.max(0, width - widthOfCell(line))
  const before = alignment === 'right' ? free : alignment === 'center' ? Math.floor(free / 2) : 0
  const text = line.map(({ text, look }) => dressed(text, look)).join('')
  return ' '.repeat(before) + text + ' '.repeat(isLast ? 0 : free - before)
}

/** Lines of a cell, wrapped at words; a longer word is cut. */
function wrapCell(cell: Cell, width: number): CellRun[][] {
  const lines: CellRun[][] = [[]]
  let used = 0
  const breakLine = () => {
    lines.push([])
    used = 0
  }
  const put = (text: string, look: Look) => {
    const line = lines.at(-1)!
    const last = line.at(-1)
    if (last !== undefined && last.look === look) line[line.length - 1] = { text: last.text + text, look }
    else line.push({ text, look })
    used += cellsOf(text)
  }
  const words = cell.flatMap(({ text, look }) =>
    (sanitise(text).match(/\n|[ \t]+|[^ \t\n]+/g) ?? []).map((part) => ({ part, look })),
  )
  let spaces: { readonly part: string; readonly look: Look } | undefined
  for (const [index, { part, look }] of words.entries()) {
    if (part === '\n') breakLine()
    else if (/^[ \t]/.test(part)) spaces = { part: part.replaceAll('\t', ' '), look }
    else {
      // A word may have several looks.
      let whole = cellsOf(part)
      for (let next = index + 1; /^[^ \t\n]/.test(words[next]?.part ?? ''); next++)
        whole += cellsOf(words[next]!.part)
      if (spaces !== undefined && used > 0) {
        if (used + cellsOf(spaces.part) + whole > width) breakLine()
        else put(spaces.part, spaces.look)
      }
      // A word that is too long is cut, behind a hyphen or a slash where it has one.
      for (const piece of whole > width ? part.match(/[^-/]*[-/]+|[^-/]+/g)! : [part]) {
        if (used > 0 && used + cellsOf(piece) > width) breakLine()
        for (const character of piece) {
          if (used > 0 && used + cellsOf(character) > width) breakLine()
          put(character, look)
        }
      }
    }
    if (!/^[ \t]/.test(part)) spaces = undefined
  }
  return lines
}
