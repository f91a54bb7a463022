const tabStop = 4

/**
 * Goes through a line of Markdown by columns: a tab reaches to the next multiple of four, and a container may take
 * only some of its columns (CommonMark 0.31.2, section 2.2). A class, because there is one for every few characters.
 */
export class LineCursor {
  readonly #line: string
  #position = 0
  #column = 0
  /** Columns left of a tab that was taken in part; the position is behind it. */
  #left = 0
  /** Where the text ahead begins, and its column. */
  #textStart = 0
  #textColumn = 0

  constructor(line: string) {
    this.#line = line
    this.#lookAhead()
  }

  /** Columns of white space ahead. */
  get indent(): number {
    return this.#textColumn - this.#column
  }

  /** Whether only white space is ahead. */
  get isBlank(): boolean {
    return this.#textStart === this.#line.length
  }

  get text(): string {
    return this.#line.slice(this.#textStart)
  }

  /** All that is ahead; the rest of a tab that was taken in part is spaces. */
  get rest(): string {
    return ' '.repeat(this.#left) + this.#line.slice(this.#position)
  }

  /** Takes columns of white space, at most those that are there. */
  takeIndent(columns: number): void {
    for (let taken = Math.min(columns, this.indent); taken > 0; taken--) {
      this.#column++
      if (this.#left > 0) {
        this.#left--
        continue
      }
      if (this.#line[this.#position] === '\t') this.#left = tabStop - 1 - ((this.#column - 1) % tabStop)
      this.#position++
    }
  }

  /** Takes the white space ahead, and then some characters, none of which is a tab. */
  takeText(length: number): void {
    this.#position = this.#textStart + length
    this.#column = this.#textColumn + length
    this.#left = 0
    this.#lookAhead()
  }

  #lookAhead(): void {
    let end = this.#position
    let at = this.#column
    for (; end < this.#line.length; end++) {
      if (this.#line[end] === ' ') at++
      else if (this.#line[end] === '\t') at += tabStop - (at % tabStop)
      else break
    }
    this.#textStart = end
    this.#textColumn = at
  }
}
