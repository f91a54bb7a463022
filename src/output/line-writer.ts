import { cellsOf, mostOf, widthOf } from './line-breaks.ts'
import { sanitise } from './gate.ts'

export interface Look {
  /** Parameters of the sequence that selects it: `1;35`. */
  readonly sgr: string
  readonly url?: string | undefined
}

export const plainLook: Look = { sgr: '' }

export interface Run {
  readonly text: string
  readonly look: Look
}

export interface Indent {
  readonly first: string
  readonly rest: string
  readonly look: Look
}

const minColumns = 20
const maxWord = 200

/**
 * Writes lines while they come, wrapped at words and after the indents of their blocks. On a terminal a line is
 * filled with spaces up to the edge in place of the one between two words, so that the terminal itself begins the
 * next row: the line stays one line for whoever copies it or resizes the window. Behind a bar, in a pipe, and where
 * the width of a character is not certain, it is ended instead.
 */
export class LineWriter {
  /** 0 where nothing is wrapped. */
  columns: number
  readonly indents: Indent[] = []
  readonly #isTerminal: boolean
  readonly #write: (text: string) => void
  readonly #begun = new WeakSet<Indent>()
  /** Cells of the current line, over all its rows; undefined at its start. */
  #offset: number | undefined
  #indented = 0
  #isCertain = true
  #spaces = 0
  #spaceLook = plainLook
  #word: { text: string; readonly look: Look }[] = []
  #wordWidth = 0
  #wordLength = 0

  constructor(columns: number, isTerminal: boolean, write: (text: string) => void) {
    this.columns = columns
    this.#isTerminal = isTerminal
    this.#write = write
  }

  get room(): number {
    return Math.max(1, this.columns - this.indents.reduce((sum, { rest }) => sum + cellsOf(rest), 0))
  }

  text(text: string, look: Look = plainLook): void {
    for (const character of sanitise(text)) {
      if (character === '\n') this.#newline()
      else if (character === ' ' || character === '\t') {
        this.flush()
        if (this.#offset === undefined) continue
        this.#spaces++
        this.#spaceLook = look
      } else {
        const isWide = widthOf(character) === 2
        // A line may break between wide characters.
        if (isWide && this.#spaces === 0) this.flush()
        this.#addToWord(character, look)
        // The first word of a line needs no place; what is styled is written whole.
        const isPlaced = this.#spaces === 0 && look === plainLook && this.#word.length === 1
        if (isPlaced || isWide || this.#wordLength >= maxWord) this.flush()
      }
    }
  }

  /** Without wrapping: the terminal wraps it where it must. */
  verbatim(text: string, look: Look = plainLook): void {
    this.flush()
    for (const [index, line] of sanitise(text).split('\n').entries()) {
      if (index > 0) this.#newline()
      if (line === '') continue
      this.#start()
      this.#write(dressed(' '.repeat(this.#spaces) + line, look))
      this.#offset! += this.#spaces + cellsOf(line)
      this.#spaces = 0
    }
  }

  /** @param line whole, with looks of its own, no wider than there is room */
  dressedLine(line: string): void {
    this.flush()
    this.#spaces = 0
    this.#start()
    this.#write(line)
    this.#newline()
  }

  endLine(): void {
    this.flush()
    if (this.#offset !== undefined || this.indents.some((indent) => !this.#begun.has(indent))) this.#newline()
  }

  emptyLine(depth: number): void {
    this.endLine()
    const before = this.indents.slice(0, depth).map(({ rest }) => rest)
    const text = before.join('').trimEnd()
    this.#write(`${text === '' ? '' : dressed(text, this.indents[0]!.look)}\n`)
  }

  flush(): void {
    const [first] = this.#word
    if (first === undefined) return
    this.#start()
    const width = this.columns
    const row = width === 0 || this.#offset === 0 ? this.#offset! : ((this.#offset! - 1) % width) + 1
    const left = width - row
    // Where the line continues, a space has to fit after the word, for those who copy it.
    const isFit =
      width < minColumns ||
      this.#spaces + this.#wordWidth < left + Number(!this.#isSoft()) ||
      row <= this.#indented ||
      this.#wordWidth >= width
    if (!isFit && this.#spaces > 0 && (!this.#isSoft() || this.#spaces <= left)) this.#wrap(left)
    else if (!isFit && this.#spaces === 0 && widthOf(first.text) === 2 && this.#wordWidth > left) {
      // The terminal leaves the last cell of a row empty.
      if (this.#indented === 0 && this.#isSoft()) this.#offset! += left
      else this.#wrap(left, false)
    } else if (this.#spaces > 0) {
      const spaces = ' '.repeat(this.#spaces)
      if (sameLook(first.look, this.#spaceLook)) first.text = spaces + first.text
      else this.#write(spaces)
      this.#offset! += this.#spaces
    }
    for (const { text, look } of this.#word) this.#write(dressed(text, look))
    this.#offset! += this.#wordWidth
    this.#word = []
    this.#wordWidth = this.#wordLength = this.#spaces = 0
  }

  #addToWord(character: string, look: Look): void {
    const cells = widthOf(character)
    if (cells === undefined) this.#isCertain = false
    const last = this.#word.at(-1)
    if (last !== undefined && sameLook(last.look, look)) last.text += character
    else this.#word.push({ text: character, look })
    this.#wordWidth += cells ?? mostOf(character)
    this.#wordLength += character.length
  }

  #wrap(left: number, fills = this.#isSoft()): void {
    this.#write(fills ? ' '.repeat(left) : '\n')
    const line = fills ? this.#offset! + left : 0
    this.#putIndents()
    this.#offset = line + this.#indented
  }

  #newline(): void {
    this.flush()
    this.#spaces = 0
    this.#start()
    this.#write('\n')
    this.#offset = undefined
    this.#isCertain = true
  }

  #start(): void {
    if (this.#offset !== undefined) return
    this.#putIndents()
    this.#offset = this.#indented
  }

  #putIndents(): void {
    this.#indented = 0
    // Deep nesting must leave room for the text.
    const most = Math.max(8, Math.floor(this.columns / 2))
    for (const indent of this.indents) {
      const text = this.#begun.has(indent) ? indent.rest : indent.first
      const width = cellsOf(indent.rest)
      if (this.#indented + width > most && this.#begun.has(indent)) continue
      this.#begun.add(indent)
      this.#write(dressed(text, text.trim() === '' ? plainLook : indent.look))
      this.#indented += width
    }
  }

  /** Whether the terminal can be made to begin the next row itself. */
  #isSoft(): boolean {
    return this.#isTerminal && this.#isCertain && this.indents.every(({ rest }) => rest.trim() === '')
  }
}

function sameLook(one: Look, other: Look): boolean {
  return one.sgr === other.sgr && one.url === other.url
}

/** Whatever is written in between keeps its own looks. */
export function dressed(text: string, { sgr, url }: Look): string {
  const styled = sgr === '' ? text : `\u001b[${sgr}m${text}\u001b[0m`
  return url === undefined ? styled : `\u001b]8;;${url}\u001b\\${styled}\u001b]8;;\u001b\\`
}
