import { code, type Piece } from './inline-pieces.ts'
import { parseInline } from './inline-parser.ts'
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
const limits: Readonly<Record<string, number>> = { '<': 500, '&': 40, '\\': 2, '!': 160, '[': 160, '`': 160 }
const emphasisLimit = 160
/** For the address of a link, of which a person sees little. */
const addressLimit = 2000

const plain = /[\\`<&*_~![]/g
/** Only behind these the meaning of what is held back can become clear. */
const deciding = /[\\`<>&;*_~![\]()"'\s]/

/** @param emit gets pieces in their order, each once */
export function createInlineStream(
  definitions: Definitions,
  emit: (pieces: readonly Piece[]) => void,
): InlineStream {
  let held = ''
  let before = ''
  let isDeciding = false
  /** The marks that end code which was too long to wait for its end; and those that may become them. */
  let codeMarks: string | undefined

  const emitPlain = (text: string, style = 0) => {
    if (text === '') return
    emit([{ text, style, link: undefined, mark: undefined, start: 0 }])
    before = text
  }
  const parse = (isWhole: boolean, frontIsText = false) => {
    const { pieces, length } = parseInline(held, {
      before: lastOf(before),
      isWhole,
      frontIsText,
      definitions,
    })
    if (length === 0) return
    before = held.slice(0, length)
    held = held.slice(length)
    emit(pieces)
  }
  const limit = () => {
    const isAddress = /\]\([^)\n]*$/.test(held)
    return isAddress ? addressLimit : (limits[held[0]!] ?? emphasisLimit)
  }
  const addHeld = (character: string) => {
    held += character
    const decides = isDeciding || deciding.test(character)
    isDeciding = deciding.test(character)
    if (decides) parse(false)
    while (held.length > 40 && held.length > limit()) {
      if (held.startsWith('`')) return beginCode()
      parse(false, true)
    }
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
    if (character === '`') return void (held += character)
    if (held === codeMarks) {
      emitPlain(held, code)
      codeMarks = undefined
      held = ''
      return push(character)
    }
    emitPlain(held + character, code)
    held = ''
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
          isDeciding = true
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
      held = ''
      before = ''
    },
  }
}

function lastOf(text: string): string {
  return /[\ud800-\udbff][\udc00-\udfff]$|[^]$/.exec(text.slice(-2))?.[0] ?? ''
}
