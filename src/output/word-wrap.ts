import { widthOf } from './line-breaks.ts'
import { LineWriter } from './line-writer.ts'

export type WordWrap = ReturnType<typeof createWordWrap>

/**
 * Keeps words of streamed text whole. Left to the terminal are words longer than a row, code (fenced or indented),
 * tables and answers in JSON. @param columns 0 when the width is unknown, and nothing is wrapped
 */
export function createWordWrap(columns: () => number) {
  let out = ''
  let writer = create()
  /** Undefined after the spaces that the line begins with. */
  let indent: string | undefined = ''
  let isVerbatim = false
  let line = ''
  let fence: string | undefined
  /** The first two characters of the whole text that are no white space. */
  let opening = ''

  function create() {
    return new LineWriter(columns(), true, (text) => void (out += text))
  }
  const take = () => {
    const ready = out
    out = ''
    return ready
  }
  const add = (text: string) => {
    line = (line + text).slice(0, 64)
    if (opening.length < 2) opening = (opening + text.replaceAll(/\s/g, '')).slice(0, 2)
    let rest = text
    if (indent !== undefined) {
      rest = text.replace(/^ +/, '')
      indent += ' '.repeat(text.length - rest.length)
      if (rest === '') return
      const isCode = indent.length >= 4 && !/^[-*+•\d]/.test(rest)
      isVerbatim = isCode || rest.startsWith('|') || fence !== undefined || /^(?:\{|\[["[{])/.test(opening)
      writer.verbatim(indent)
      indent = undefined
    }
    // Terminals disagree about the width of what follows.
    const certain = isVerbatim ? 0 : certainLength(rest)
    if (certain > 0) writer.text(rest.slice(0, certain))
    if (certain === rest.length) return
    isVerbatim = true
    writer.verbatim(rest.slice(certain))
  }
  const endLine = () => {
    writer.verbatim(indent ?? '')
    fence = fenceAfter(fence, line)
    indent = line = ''
  }
  return {
    /** @returns what can be written: all but the word that has just begun */
    push(text: string): string {
      if (columns() === 0) return text
      writer.columns = columns()
      for (const [index, part] of text.split('\n').entries()) {
        if (index > 0) {
          endLine()
          writer.verbatim('\n')
        }
        if (part !== '') add(part)
      }
      return take()
    },
    /** @returns what was held back. What follows starts on a line of its own. */
    end(): string {
      endLine()
      writer.flush()
      writer = create()
      return take()
    },
  }
}

function certainLength(text: string): number {
  const characters = [...text]
  const end = characters.findIndex((character) => widthOf(character) === undefined)
  return end === -1 ? text.length : characters.slice(0, end).join('').length
}

function fenceAfter(open: string | undefined, line: string): string | undefined {
  const [, marks, rest = ''] = /^ *(`{3,}|~{3,})(.*)$/.exec(line) ?? []
  if (marks === undefined) return open
  if (open === undefined) return marks
  return marks.startsWith(open) && rest.trim() === '' ? undefined : open
}
