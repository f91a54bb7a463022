import { ContractError } from '../../errors.ts'
import { closingQuote } from '../../json.ts'
import { createGrowingText, type GrowingText } from '../../growing-text.ts'

/** Candidates, output items and images of a reply are numbered below this. */
export const maxPositions = 1024

/** The position that a piece of the reply belongs to: bounded, whatever the gateway sends (fault E21). */
export function positionOf(value: unknown): number {
  if (value === undefined || value === null) return 0
  const position = typeof value === 'string' ? Number(value) : value
  if (typeof position === 'number' && Number.isInteger(position) && position >= 0 && position < maxPositions)
    return position
  const message = 'The reply numbers one of its parts with an impossible index.'
  throw new ContractError('reply_not_understood', message)
}

const QUOTE = 34
const BACKSLASH = 92
const OPEN_ARRAY = 91
const CLOSE_ARRAY = 93
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125

/**
 * Yields each object of `{…}{…}`, of lines, and of one array `[{…},{…}]`, which the streaming endpoint sends without
 * `alt=sse`, as soon as its last character has come. Work is linear in the text, however it is cut.
 * @param onStray text between values that no JSON stream has
 */
export function createJsonValueSplitter(onValue: (text: string) => void, onStray: (text: string) => void) {
  let kept: GrowingText | undefined
  let depth = 0
  let inString = false
  let escaped = false

  const feed = (text: string): void => {
    let start = depth > 0 ? 0 : -1
    let strayFrom = depth > 0 ? -1 : 0
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (inString) {
        if (escaped) escaped = false
        else if (code === BACKSLASH) escaped = true
        else if (code === QUOTE) inString = false
      } else if (depth === 0) {
        if (code !== OPEN_OBJECT) continue
        reportStray(text.slice(strayFrom, at))
        depth = 1
        start = at
      } else if (code === QUOTE) inString = true
      else if (code === OPEN_OBJECT || code === OPEN_ARRAY) depth++
      else if ((code === CLOSE_OBJECT || code === CLOSE_ARRAY) && --depth === 0) {
        const rest = text.slice(start, at + 1)
        const whole = kept === undefined ? rest : kept.toString() + rest
        kept = undefined
        onValue(whole)
        start = -1
        strayFrom = at + 1
      }
    }
    if (depth > 0) {
      kept ??= createGrowingText()
      kept.add(text.slice(start))
    } else reportStray(text.slice(strayFrom))
  }

  const reportStray = (text: string) => {
    // The array's own brackets and commas belong to no value.
    const stray = text.replaceAll(/[[\],\s\u001e]/g, '')
    if (stray !== '') onStray(text.trim())
  }

  return {
    feed,
    get pendingLength() {
      return kept?.length ?? 0
    },
    pendingText: () => kept?.toString() ?? '',
  }
}

export function unescapeJson(characters: string): string {
  return characters.includes('\\') ? (JSON.parse(`"${characters}"`) as string) : characters
}

/** A cut JSON object or array, closed after the last value that came whole; it alone when more follows. */
export function closeJson(text: string): string {
  /** Of the objects and lists that are open, the innermost first. */
  let closers = ''
  let closed = ''
  let isKey = false
  const keep = (end: number) => (closed = text.slice(0, end) + closers)
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!
    switch (character) {
      case '"': {
        const end = closingQuote(text, at)
        if (end === text.length) return closed
        at = end
        if (!isKey) keep(end + 1)
        break
      }
      case '{':
      case '[':
        closers = (character === '{' ? '}' : ']') + closers
        isKey = character === '{'
        break
      case '}':
      case ']':
        closers = closers.slice(1)
        keep(at + 1)
        if (closers === '') return closed
        break
      case ',':
        // Only here is it certain that a number or a word has ended.
        keep(at)
        isKey = closers.startsWith('}')
        break
      case ':':
        isKey = false
    }
  }
  return closed
}
