/**
 * Goes through a line of Markdown by columns: a tab reaches to the next multiple of four, and a container may take
 * only some of its columns (CommonMark 0.31.2, section 2.2).
 */
export interface LineCursor {
  /** Columns of white space ahead. */
  readonly indent: number
  /** Whether only white space is ahead. */
  readonly isBlank: boolean
  /** What follows the white space ahead. */
  readonly text: string
  /** All that is ahead; the rest of a tab that was taken in part is spaces. */
  readonly rest: string
  /** Takes columns of white space, at most those that are there. */
  takeIndent(columns: number): void
  /** Takes the white space ahead, and then some characters, none of which is a tab. */
  takeText(length: number): void
}

const tabStop = 4

export function createLineCursor(line: string): LineCursor {
  let position = 0
  let column = 0
  /** Columns left of a tab that was taken in part; `position` is behind it. */
  let left = 0

  /** Where the text begins, and in which column. */
  const ahead = () => {
    let end = position
    let at = column + left
    for (; end < line.length; end++) {
      if (line[end] === ' ') at++
      else if (line[end] === '\t') at += tabStop - (at % tabStop)
      else break
    }
    return { end, at }
  }
  const takeColumn = () => {
    column++
    if (left > 0) {
      left--
      return
    }
    if (line[position] === '\t') left = tabStop - 1 - ((column - 1) % tabStop)
    position++
  }
  return {
    get indent() {
      return ahead().at - column
    },
    get isBlank() {
      return ahead().end === line.length
    },
    get text() {
      return line.slice(ahead().end)
    },
    get rest() {
      return ' '.repeat(left) + line.slice(position)
    },
    takeIndent(columns) {
      for (let taken = 0; taken < columns; taken++) {
        if (left === 0 && line[position] !== ' ' && line[position] !== '\t') return
        takeColumn()
      }
    },
    takeText(length) {
      const { end, at } = ahead()
      position = end + length
      column = at + length
      left = 0
    },
  }
}
