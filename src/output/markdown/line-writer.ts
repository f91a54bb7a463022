import { cellsOf, mostOf, widthOf } from '../cell-width.ts'
import { sanitise } from '../gate.ts'

export interface Look {
  /** Parameters of the sequence that selects it (`1;35`); empty for plain text. */
  readonly sgr: string
  /** Where it leads to, on a terminal with links. */
  readonly url?: string | undefined
}

export const plainLook: Look = { sgr: '' }

export interface Indent {
  /** Before its first line. */
  readonly first: string
  /** Before all others; as wide. */
  readonly rest: string
  readonly look: Look
}

/** Writes lines, each wrapped at words and behind the indents of its blocks. */
export interface LineWriter {
  columns: number
  /** The blocks around what is written. */
  readonly indents: Indent[]
  /** Cells that are left for text behind the indents. */
  readonly room: number
  /** Cells of the current line behind the indents; wrapped rows count whole. */
  readonly used: number
  /** Text; a line ends at `\n`. */
  text(text: string, look: Look): void
  /** The same without wrapping, whatever it is: the terminal wraps it where it must. */
  verbatim(text: string, look: Look): void
  /** A whole line with looks of its own, no wider than there is room. */
  dressedLine(line: string): void
  /** Cells of the last line that ended. */
  readonly lineWidth: number
  /** Writes what is held back of a line. */
  flush(): void
  /** Ends the current line, if there is one, or if a first indent waits to be shown. */
  endLine(): void
  /** An empty line within the outer blocks. */
  emptyLine(depth: number): void
}

/** Below this width words would hardly fit. */
const minColumns = 20
/** As much of a word as is held back. */
const maxWord = 200

/**
 * A line is wrapped as word-wrap.ts does it: filled with spaces up to the edge, so that the terminal itself begins the
 * next row, and the line stays one for whoever copies it. Behind a bar, in a pipe, and where the width of a character
 * is not certain, it is ended instead.
 * @param isTerminal whether what is written is wrapped at the columns
 */
export function createLineWriter(
  columns: number,
  isTerminal: boolean,
  write: (text: string) => void,
): LineWriter {
  const indents: Indent[] = []
  /** Indents whose first line has been written. */
  const begun = new WeakSet<Indent>()
  /** Cells written of the current line; undefined at its start. */
  let offset: number | undefined
  /** Cells of the indents of the current line. */
  let indented = 0
  let isCertain = true
  let lineWidth = 0
  let spaces = 0
  let spaceLook = plainLook
  let word: { text: string; readonly look: Look }[] = []
  let wordWidth = 0
  let wordLength = 0

  const put = (text: string, look: Look) => write(dressed(text, look))
  const putIndents = (depth = indents.length) => {
    indented = 0
    // Deep nesting must leave room for the text.
    const most = Math.max(8, Math.floor(writer.columns / 2))
    for (const indent of indents.slice(0, depth)) {
      const text = begun.has(indent) ? indent.rest : indent.first
      const width = cellsOf(indent.rest)
      if (indented + width > most && begun.has(indent)) continue
      begun.add(indent)
      put(text, text.trim() === '' ? plainLook : indent.look)
      indented += width
    }
    offset = indented
  }
  const start = () => {
    if (offset === undefined) putIndents()
  }
  /** Whether the terminal can be made to begin the next row itself. */
  const isSoft = () => isTerminal && isCertain && indents.every(({ rest }) => rest.trim() === '')
  /** Goes on in the next row of a line. */
  const wrap = (left: number, fills: boolean) => {
    write(fills ? ' '.repeat(left) : '\n')
    const line = fills ? offset! + left : 0
    putIndents()
    offset = line + indented
  }
  const place = () => {
    if (word.length === 0) return
    start()
    const width = writer.columns
    const row = width === 0 || offset === 0 ? offset! : ((offset! - 1) % width) + 1
    const left = width - row
    // Where the line goes on, a space has to fit after the word, for those who copy it.
    const isFit =
      width < minColumns ||
      spaces + wordWidth < left + Number(!isSoft()) ||
      row <= indented ||
      wordWidth >= width
    if (!isFit && spaces > 0 && (!isSoft() || spaces <= left)) wrap(left, isSoft())
    else if (!isFit && spaces === 0 && isWide(word) && wordWidth > left) {
      // The terminal leaves the last cell of a row empty.
      if (indented === 0 && isSoft()) offset! += left
      else wrap(left, false)
    } else if (spaces > 0) {
      const [first] = word
      if (sameLook(first!.look, spaceLook)) first!.text = ' '.repeat(spaces) + first!.text
      else write(' '.repeat(spaces))
      offset! += spaces
    }
    for (const { text, look } of word) put(text, look)
    offset! += wordWidth
    clearWord()
  }
  const clearWord = () => {
    word = []
    wordWidth = 0
    wordLength = 0
    spaces = 0
  }
  const addToWord = (character: string, look: Look) => {
    const cells = widthOf(character)
    if (cells === undefined) isCertain = false
    const last = word.at(-1)
    if (last !== undefined && sameLook(last.look, look)) last.text += character
    else word.push({ text: character, look })
    wordWidth += cells ?? mostOf(character)
    wordLength += character.length
  }
  const newline = () => {
    place()
    spaces = 0
    start()
    write('\n')
    lineWidth = offset! - indented
    offset = undefined
    isCertain = true
  }

  const writer: LineWriter = {
    columns,
    indents,
    get room() {
      return Math.max(1, writer.columns - indents.reduce((sum, { rest }) => sum + cellsOf(rest), 0))
    },
    get used() {
      return (offset ?? indented) - indented + wordWidth
    },
    text(text, look) {
      for (const character of sanitise(text)) {
        if (character === '\n') newline()
        else if (character === ' ' || character === '\t') {
          place()
          if (offset === undefined) continue
          spaces++
          spaceLook = look
        } else {
          const isWideNow = widthOf(character) === 2
          // A line may break between wide characters.
          if (isWideNow && spaces === 0) place()
          addToWord(character, look)
          // The first word of a line needs no place; what is styled is written whole.
          const isPlaced = spaces === 0 && look === plainLook && word.length === 1
          if (isPlaced || isWideNow || wordLength >= maxWord) place()
        }
      }
    },
    verbatim(text, look) {
      place()
      for (const [index, line] of sanitise(text).split('\n').entries()) {
        if (index > 0) newline()
        if (line === '') continue
        start()
        put(' '.repeat(spaces) + line, look)
        spaces = 0
        offset! += cellsOf(line)
      }
    },
    dressedLine(line) {
      place()
      spaces = 0
      start()
      write(line)
      newline()
    },
    get lineWidth() {
      return lineWidth
    },
    flush: () => place(),
    endLine() {
      place()
      if (offset !== undefined || indents.some((indent) => !begun.has(indent))) newline()
    },
    emptyLine(depth) {
      writer.endLine()
      const before = indents.slice(0, depth).map(({ rest }) => rest)
      const text = before.join('').trimEnd()
      if (text !== '') put(text, indents[0]!.look)
      write('\n')
    },
  }
  return writer
}

function isWide(word: readonly { readonly text: string }[]): boolean {
  return widthOf(String.fromCodePoint(word[0]!.text.codePointAt(0)!)) === 2
}

function sameLook(one: Look, other: Look): boolean {
  return one.sgr === other.sgr && one.url === other.url
}

/** With the sequences that select a look and end it: whatever is written in between keeps its own. */
export function dressed(text: string, { sgr, url }: Look): string {
  const styled = sgr === '' ? text : `\u001b[${sgr}m${text}\u001b[0m`
  return url === undefined ? styled : `\u001b]8;;${url}\u001b\\${styled}\u001b]8;;\u001b\\`
}
