import { widthOf } from './cell-width.ts'

/** Wraps streamed text at words where a terminal would wrap it in the middle of one. */
export interface WordWrap {
  /** Takes text, and gives what can be written: all of it but the word that has just begun. */
  push(text: string): string
  /** Gives what is held back. What follows starts on a line of its own. */
  end(): string
}

/** Below this width words would hardly fit. */
const minColumns = 20
/** As much of the beginning of a line as its form can be told by. */
const formLength = 64

/**
 * A line is wrapped by spaces up to the edge in place of the one between two words: the next word then starts on the
 * next row by the terminal's own wrapping. So the line stays one line for whoever copies it or resizes the window.
 * Nothing is inserted where the text has no space. Left to the terminal are words longer than a row, code (fenced or
 * indented), tables, answers in JSON, and lines whose width terminals disagree about.
 * @param columns the width at present; 0 when it is unknown, and nothing is wrapped
 */
export function createWordWrap(columns: () => number): WordWrap {
  /** Cells written of the current line, over all its rows. */
  let offset = 0
  /** The beginning of the current line. */
  let form = ''
  /** Whether the rest of the line is written as it comes. */
  let isPlain = false
  /** Whether the rest of the word is: its place is decided. */
  let isPlaced = true
  let spaces = 0
  let word = ''
  let wordWidth = 0
  /** The marks that opened a block of code. */
  let fence: string | undefined
  /** The first two characters of the whole text that are no white space. */
  let opening = ''
  let width = columns()
  let out = ''

  const place = () => {
    const used = offset === 0 ? 0 : ((offset - 1) % width) + 1
    const left = width - used
    // A space has to fit after the word, for those who copy the line.
    const fits = spaces + wordWidth < left
    const wraps = !fits && word !== '' && wordWidth < width && spaces <= left && mayWrap()
    const gap = wraps ? left : spaces
    out += ' '.repeat(gap) + word
    offset += gap + wordWidth
    spaces = 0
    word = ''
    wordWidth = 0
  }
  const mayWrap = () =>
    width >= minColumns &&
    offset > 0 &&
    spaces > 0 &&
    !isPlain &&
    fence === undefined &&
    !/^(?:\{|\[["[{])/.test(opening) &&
    !isVerbatim(form)

  const endLine = () => {
    place()
    fence = fenceAfter(fence, form)
    startLine()
  }
  const startLine = () => {
    offset = 0
    form = ''
    isPlain = false
    isPlaced = true
  }

  const add = (character: string) => {
    if (character === '\n') {
      endLine()
      out += '\n'
      return
    }
    if (form.length < formLength) form += character
    if (character === ' ') {
      if (word !== '' || isPlaced) place()
      isPlaced = false
      spaces++
      return
    }
    if (opening.length < 2) opening += character
    const cells = widthOf(character)
    if (cells === undefined) isPlain = true
    // A wide character that does not fit leaves the last cell of a row empty.
    if (cells === 2 && word === '' && isPlaced && (offset + 1) % width === 0) offset++
    word += character
    wordWidth += cells ?? 1
    // Between wide characters a line may break anywhere, as in the middle of a word that is longer than a row.
    if (isPlaced || cells === 2 || wordWidth >= width || isPlain) {
      place()
      isPlaced = true
    }
  }

  return {
    push(text) {
      width = columns()
      if (width === 0) return text
      for (const character of text) add(character)
      const ready = out
      out = ''
      return ready
    },
    end() {
      place()
      startLine()
      const rest = out
      out = ''
      return rest
    },
  }
}

/** Whether spaces mean something in a line that begins like this: code, but no inner list, or a row of a table. */
function isVerbatim(form: string): boolean {
  return /^ {4}(?! *(?:[-*+•]|\d+[.)]) )|^ *\|/.test(form)
}

/** The fence that is open after a line of Markdown. */
function fenceAfter(open: string | undefined, line: string): string | undefined {
  const [, marks, rest = ''] = /^ *(`{3,}|~{3,})(.*)$/.exec(line) ?? []
  if (marks === undefined) return open
  if (open === undefined) return marks
  return marks.startsWith(open) && rest.trim() === '' ? undefined : open
}
