/** The rows of tables, as GitHub has them (GFM 0.29, section 4.10). */

export type Alignment = 'left' | 'right' | 'center'

/** Whether a line may be, so far, the one below the head of a table. */
export function mayBeDelimiterRow(text: string): boolean {
  return /^[ \t|:-]*$/.test(text)
}

/** The columns that the line below the head of a table describes; undefined for any other line. */
export function delimiterRow(text: string): Alignment[] | undefined {
  if (!text.includes('|') || !mayBeDelimiterRow(text)) return undefined
  const cells = splitRow(text)
  if (!cells.every((cell) => /^:?-+:?$/.test(cell))) return undefined
  return cells.map((cell) => {
    if (!cell.endsWith(':')) return 'left'
    return cell.startsWith(':') && cell.length > 1 ? 'center' : 'right'
  })
}

/** The cells of a row. A pipe behind a backslash belongs to its cell, in code, too. */
export function splitRow(line: string): string[] {
  const row = line.trim()
  const cells: string[] = []
  let cell = ''
  for (let at = row.startsWith('|') ? 1 : 0; at < row.length; at++) {
    if (row[at] === '\\' && row[at + 1] === '|') {
      cell += '|'
      at++
    } else if (row[at] === '|') {
      cells.push(cell.trim())
      cell = ''
    } else cell += row[at]
  }
  if (cell.trim() !== '' || cells.length === 0) cells.push(cell.trim())
  return cells
}
