import { cellsOf, rowsOf } from '../line-breaks.ts'
import { dressed, plainLook, type Look, type Run } from '../line-writer.ts'
import type { Alignment } from './block-parser.ts'

export type Cell = readonly Run[]

const gap = ' │ '
/** Rows that the widths are chosen from; later ones appear as they come. */
const measuredRows = 3
/** Narrower than this, words are cut so often that a list is easier to read. */
const minWidth = 8
const maxSlack = 6
const minText = 4

export interface TableOptions {
  readonly head: readonly Cell[]
  readonly alignments: readonly Alignment[]
  readonly room: () => number
  readonly look: Look
  readonly write: (line: string) => void
}

/** Columns side by side, or, where there is no room for them, each row as a list. */
export function createTable({ head, alignments, room, look, write }: TableOptions) {
  const first: (readonly Cell[])[] = []
  let linesOf: ((cells: readonly Cell[]) => string[]) | undefined

  const begin = () => {
    const wished = head.map((cell, index) =>
      Math.max(1, ...[cell, ...first.map((row) => row[index] ?? [])].map(widthOf)),
    )
    const widths = fit(wished, alignments, room() - gap.length * (head.length - 1))
    if (widths === undefined) linesOf = recordsOf(head, room(), look)
    else {
      linesOf = (cells) => rowLines(cells, widths, alignments, dressed(gap, look))
      linesOf(head).forEach(write)
      write(dressed(widths.map((width) => '─'.repeat(width)).join('─┼─'), look))
    }
    first.flatMap(linesOf).forEach(write)
  }
  return {
    columns: head.length,
    add(cells: readonly Cell[]): void {
      if (linesOf !== undefined) linesOf(cells).forEach(write)
      else if (first.push(cells) === measuredRows) begin()
    },
    end(): void {
      if (linesOf === undefined) begin()
    },
  }
}

/** Undefined where there is too little room for words. */
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

/** Text needs it more than numbers. */
function withSlack(wished: readonly number[], alignments: readonly Alignment[], spare: number): number[] {
  let left = spare
  return wished.map((width, index) => {
    const isText = alignments[index] === 'left' && width >= minText
    const given = Math.min(left, isText ? Math.min(maxSlack, Math.ceil(width / 3)) : 2)
    left -= given
    return width + given
  })
}

function rowLines(
  cells: readonly Cell[],
  widths: readonly number[],
  alignments: readonly Alignment[],
  bar: string,
): string[] {
  const columns = widths.map((width, index) => wrapCell(cells[index] ?? [], width))
  const height = Math.max(...columns.map(({ length }) => length))
  const last = columns.length - 1
  return Array.from({ length: height }, (_, row) =>
    columns
      .map((lines, index) => {
        const line = lines[row] ?? []
        const free = Math.max(0, widths[index]! - widthOf(line))
        const before = { left: 0, right: free, center: Math.floor(free / 2) }[alignments[index] ?? 'left']
        return ' '.repeat(before) + lineText(line) + ' '.repeat(index === last ? 0 : free - before)
      })
      .join(bar),
  )
}

function recordsOf(head: readonly Cell[], room: number, look: Look): (cells: readonly Cell[]) => string[] {
  let isFirst = true
  return (cells) => {
    const lines = head.flatMap((name, index) => {
      const cell = cells[index] ?? []
      if (cell.length === 0) return []
      return wrapCell([...name, { text: ': ', look: plainLook }, ...cell], room).map(lineText)
    })
    const rule = isFirst ? [] : [dressed('─'.repeat(Math.min(room, 8)), look)]
    isFirst = false
    return [...rule, ...lines]
  }
}

/** Lines of a cell, wrapped at words; a longer word is cut. */
function wrapCell(cell: Cell, width: number): Cell[] {
  const text = textOf(cell).replaceAll('\t', ' ')
  let start = 0
  return text.split('\n').flatMap((line) => {
    const from = start
    start += line.length + 1
    return rowsOf(line, width, 0, true).map((row) => slice(cell, from + row[0], from + row[1]))
  })
}

function slice(cell: Cell, start: number, end: number): Run[] {
  let at = 0
  return cell.flatMap(({ text, look }) => {
    const part = text.slice(Math.max(0, start - at), Math.max(0, end - at)).replaceAll('\t', ' ')
    at += text.length
    return part === '' ? [] : [{ text: part, look }]
  })
}

function textOf(cell: Cell): string {
  return cell.map(({ text }) => text).join('')
}

function lineText(line: Cell): string {
  return line.map(({ text, look }) => dressed(text, look)).join('')
}

function widthOf(cell: Cell): number {
  return Math.max(...textOf(cell).split('\n').map(cellsOf))
}
