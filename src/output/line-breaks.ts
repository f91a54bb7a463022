/** Longer lines are hard to read, however wide the terminal is. */
export const widest = 100

type Row = [start: number, end: number]

/**
 * At spaces, but not in the indentation; a longer word has a row of its own.
 * @param hanging cells at the start of the rows after the first @param cuts whether a longer word is cut, after a
 * hyphen or a slash where it has one
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

export function breakLine(line: string, room: number, hanging = ''): string[] {
  return rowsOf(line, room, cellsOf(hanging)).map(([start, end], index) => {
    return (index === 0 ? '' : hanging) + line.slice(start, end)
  })
}

export function wrap(line: string, columns: number, hanging = ''): string {
  return breakLine(line, Math.min(columns, widest), hanging).join('\n')
}

const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u
/** Joiners, variation selectors, halves of flags and skin tones, tabs: what they take depends on the terminal. */
const uncertain = /\t|\u200d|\ufe0e|\ufe0f|\p{Regional_Indicator}|\p{Emoji_Modifier}/u
const without = /[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff]/u

/** In cells of a terminal; undefined where terminals disagree. */
export function widthOf(character: string): number | undefined {
  const code = character.codePointAt(0)!
  if (code >= 0x20 && code < 0x7f) return 1
  if (uncertain.test(character)) return undefined
  if (without.test(character)) return 0
  return wide.test(character) ? 2 : 1
}

export function cellsOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length
  let cells = 0
  for (const character of text) cells += widthOf(character) ?? mostOf(character)
  return cells
}

/** The most that a character takes of which terminals disagree: it may change the one before it. */
export function mostOf(character: string): number {
  if (character === '\t') return 8
  if (character === '\ufe0f') return 1
  return /\u200d|\ufe0e/.test(character) ? 0 : 2
}
