import { code, type Piece } from './inline-pieces.ts'
import { parseInline, type Wait } from './inline-parser.ts'
import type { Definitions } from './link-targets.ts'

/** The inline text of one block, which comes in pieces of any length. */
export interface InlineStream {
  push(text: string): void
  /** The block has ended: what is held back is told. */
  end(): void
}

/**
 * Characters held back for a mark that may begin something. Behind them it is text (a mark that no other answers is
 * text, too, and then what follows it would have waited for nothing), except for code, which then begins.
 */
const limits: Readonly<Record<string, number>> = {
  '**': 160,
  __: 160,
  '*': 80,
  _: 80,
  '~~': 160,
  '~': 40,
  '`': 80,
  '[': 120,
  '![': 120,
  '<': 300,
  '&': 40,
}
const usualLimit = 160
/** For the address of a link, of which a person sees little. */
const addressLimit = 2000

const plain = /[\\`<&*_~![]/g
/** @param emit gets pieces in their order, each once */
export function createInlineStream(
  definitions: Definitions,
  emit: (pieces: readonly Piece[]) => void,
): InlineStream {
  let held = ''
  let before = ''
  let waits: Wait = 'next'
  /** The marks that end code which was too long to wait for its end; and those that may become them. */
  let codeMarks: string | undefined
  let isLongRun = false

  const emitPlain = (text: string, style = 0) => {
    if (text === '') return
    emit([{ text, style, link: undefined, mark: undefined, start: 0 }])
    before = text
  }
  const parse = (isWhole: boolean, textUntil = 0) => {
    const parsed = parseInline(held, { before: lastOf(before), isWhole, textUntil, definitions })
    const { pieces, length } = parsed
    waits = parsed.waits
    if (length === 0) return
    before = held.slice(0, length)
    held = held.slice(length)
    emit(pieces)
  }
  const isTooLong = () => {
    if (held.length <= 40) return false
    const [mark = ''] = /^(?:\*{1,2}|_{1,2}|~{1,2}|!\[|[^])/.exec(held) ?? []
    if (held.length <= (limits[mark] ?? usualLimit)) return false
    return held.length > addressLimit || !/\]\([^)\n]*$/.test(held)
  }
  const addHeld = (character: string) => {
    const last = held.at(-1)!
    held += character
    if (mayDecide(character, last)) parse(false)
    if (!isTooLong()) return
    // Code over several lines is rarer than a backtick without a partner.
    if (held.startsWith('`') && !held.includes('\n')) beginCode()
    // All in the first half at once: whatever comes, little is read again and again.
    else parse(false, held.length >> 1)
  }
  /** Whether what is held back may become clear with a character. */
  const mayDecide = (character: string, last: string): boolean => {
    switch (waits) {
      case 'next':
        return true
      case 'code':
        return last === '`' && character !== '`'
      case 'tag':
        return /[>\s]/.test(character)
      case 'address':
        return /[)\s]/.test(character)
      case 'bracket':
        return character === ']' || last === ']'
      case 'closer':
        return '*_~'.includes(last) && character !== last && !followsSpace(last)
    }
  }
  /** Whether the run of marks before the last character can close nothing. */
  const followsSpace = (mark: string): boolean => {
    let at = held.length - 2
    while (held[at] === mark) at--
    return /^\s$/.test(held[at] ?? '')
  }
  const beginCode = () => {
    const [marks] = /^`+/.exec(held)!
    const text = held.slice(marks.length)
    emitPlain(marks, code)
    held = ''
    codeMarks = marks
    for (const character of text) addCode(character)
  }
  const addCode = (character: string) => {
    if (character === '`' && !isLongRun) {
      held += character
      // A longer run is no end.
      isLongRun = held.length > codeMarks!.length
      if (!isLongRun) return
      emitPlain(held, code)
      held = ''
      return
    }
    if (character === '`') return emitPlain(character, code)
    const ends = held === codeMarks
    emitPlain(ends ? held : held + character, code)
    held = ''
    isLongRun = false
    if (!ends) return
    codeMarks = undefined
    push(character)
  }
  const push = (text: string) => {
    for (let at = 0; at < text.length;) {
      if (codeMarks !== undefined) addCode(text[at++]!)
      else if (held !== '') addHeld(text[at++]!)
      else {
        plain.lastIndex = at
        const place = plain.exec(text)?.index ?? text.length
        emitPlain(text.slice(at, place))
        at = place
        if (at < text.length) {
          waits = 'next'
          held = text[at++]!
        }
      }
    }
  }
  return {
    push,
    end() {
      if (codeMarks !== undefined) emitPlain(held, code)
      else if (held !== '') parse(true)
      codeMarks = undefined
      isLongRun = false
      held = ''
      before = ''
    },
  }
}

function lastOf(text: string): string {
  return /[\ud800-\udbff][\udc00-\udfff]$|[^]$/.exec(text.slice(-2))?.[0] ?? ''
}
