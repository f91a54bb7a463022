import { cellsOf } from './cell-width.ts'

/** Longer lines are hard to read, however wide the terminal is. */
export const widest = 100

/** The beginning and the end of a row in its text. */
type Row = [start: number, end: number]

/**
 * Where a text is broken into rows: at spaces. A longer word has a row of its own; nothing is broken in the indentation.
 * @param room cells of a row
 * @param hanging cells at the start of the rows after the first
 * @param cuts whether a longer word is cut, behind a hyphen or a slash where it has one
 */
export function rowsOf(text: string, room: number, hanging = 0, cuts = false): Row[] {
  const rows: Row[] = [[0, 0]]
  let used = 0
  const add = (start: number, end: number, cells: number, leading = 0) => {
    if (used === 0 || used + cells <= room) {
      rows.at(-1)![1] = end
      used += cells
    } else {
      rows.push([start + leading, end])
      used = hanging + cells - leading
    }
  }
  for (const { 0: token, index } of text.matchAll(/ *[^ ]+| +$/g)) {
    const word = token.trimStart()
    const spaces = token.length - word.length
    const start = index + spaces
    const cells = cellsOf(token)
    if (!cuts || cells - spaces <= room) {
      add(index, index + token.length, cells, spaces)
      continue
    }
    if (used > 0) {
      rows.push([start, start])
      used = hanging
    }
    for (const { 0: part, index: at } of word.matchAll(/[^-/]*[-/]+|[^-/]+/g)) {
      let place = start + at
      for (const piece of cellsOf(part) > room ? part : [part]) {
        add(place, place + piece.length, cellsOf(piece))
        place += piece.length
      }
    }
  }
  return rows
}

/** Breaks a line at spaces. @param hanging what the lines after the first start with */
export function breakLine(line: string, room: number, hanging = ''): string[] {
  return rowsOf(line, room, cellsOf(hanging)).map(([start, end], index) => {
    return (index === 0 ? '' : hanging) + line.slice(start, end)
  })
}

/** The same for a message or a help, which have a width to be read at. */
export function wrap(line: string, columns: number, hanging = ''): string {
  return breakLine(line, Math.min(columns, widest), hanging).join('\n')
}
