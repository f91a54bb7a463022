import { cellsOf } from './cell-width.ts'

/** Longer lines are hard to read, however wide the terminal is. */
export const widest = 100

/**
 * Breaks a line at spaces. A longer word has a line of its own; nothing is broken in the indentation.
 * @param room cells of a line
 * @param hanging what the lines after the first start with
 */
export function breakLine(line: string, room: number, hanging = ''): string[] {
  if (cellsOf(line) <= room) return [line]
  const [first = '', ...words] = line.match(/ *[^ ]+| +$/g) ?? []
  const lines = [first]
  let used = cellsOf(first)
  for (const word of words) {
    const cells = cellsOf(word)
    if (used + cells <= room) {
      lines.push(lines.pop()! + word)
      used += cells
    } else {
      const start = hanging + word.trimStart()
      lines.push(start)
      used = cellsOf(start)
    }
  }
  return lines
}

/** The same for a message or a help, which have a width to be read at. @param hanging as for `breakLine` */
export function wrap(line: string, columns: number, hanging = ''): string {
  return breakLine(line, Math.min(columns, widest), hanging).join('\n')
}
