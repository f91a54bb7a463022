import { closingQuote } from '../json.ts'

/** The longest escape in JSON is `\u0000`. */
const maxEscape = 6

/** Undefined between characters; it may end after the text. */
export function escapeAround(text: string, at: number): { start: number; end: number } | undefined {
  for (let start = at - 1; start > at - maxEscape && start >= 0; start--) {
    if (text.charCodeAt(start) !== 0x5c) continue
    if (!isEscape(text, start)) continue
    const end = start + (text[start + 1] === 'u' ? maxEscape : 2)
    return at < end ? { start, end } : undefined
  }
  return undefined
}

function isEscape(text: string, at: number): boolean {
  let start = at
  while (start > 0 && text.charCodeAt(start - 1) === 0x5c) start--
  return (at - start) % 2 === 0
}

export const hiddenMark = '[hidden]'

/**
 * @param spans alternating starts and ends, ascending, without overlap
 * @param isJson the text stays valid JSON: no escape is split, and a number is replaced with 0
 */
export function hideSpans(text: string, spans: readonly number[], isJson = false): string {
  let clean = ''
  let copied = 0
  for (let at = 0; at < spans.length; at += 2) {
    let [start, end, mark] = [spans[at]!, spans[at + 1]!, hiddenMark]
    if (isJson) {
      start = Math.max(copied, escapeAround(text, start)?.start ?? start)
      end = Math.max(copied, escapeAround(text, end)?.end ?? end)
      const number = numberAround(text, start, end)
      if (number !== undefined) [start, end, mark] = [number.start, number.end, '0']
    }
    clean += text.slice(copied, start) + mark
    copied = end
  }
  return clean + text.slice(copied)
}

/** The number that a span of digits is part of. */
function numberAround(json: string, start: number, end: number): { start: number; end: number } | undefined {
  if (!/^\d+$/.test(json.slice(start, end))) return undefined
  let [first, last] = [start, end]
  while (first > 0 && /[\d.eE+-]/.test(json[first - 1]!)) first--
  while (last < json.length && /[\d.eE+-]/.test(json[last]!)) last++
  const isNumber = /[:[,\s]/.test(json[first - 1] ?? ' ') && /[\]},\s]/.test(json[last] ?? ' ')
  return isNumber ? { start: first, end: last } : undefined
}

/** Of a string value, without its quotation marks. */
interface StringRange {
  readonly start: number
  readonly end: number
  /** Of the text that it is a piece of: its path in the document, and the indices and ids there. */
  readonly channel: string
}

/** Properties that distinguish the texts of one stream. */
const channelNames = /^(?:type|index|id|[a-z_]+_(?:index|id))$/

interface Level {
  readonly isArray: boolean
  readonly path: string
  name: string
  count: number
}

/** Not recursive, and never throws: in text that is not JSON it finds what looks like strings. */
export function stringsIn(json: string): StringRange[] {
  const found: { start: number; end: number; path: string }[] = []
  const marks: string[] = []
  const levels: Level[] = []
  const pathHere = () => {
    const level = levels.at(-1)
    if (level === undefined) return ''
    return `${level.path}/${level.isArray ? level.count : level.name}`
  }
  for (let at = 0; at < json.length; at++) {
    const character = json[at]!
    const level = levels.at(-1)
    if (character === '"') {
      const end = closingQuote(json, at)
      if (level?.isArray === false && /^\s*:/.test(json.slice(end + 1, end + 20))) {
        level.name = json.slice(at + 1, end)
      } else {
        found.push({ start: at + 1, end, path: pathHere() })
        if (level !== undefined && channelNames.test(level.name)) marks.push(json.slice(at, end))
      }
      at = end
    } else if (character === '{' || character === '[') {
      levels.push({ isArray: character === '[', path: pathHere(), name: '', count: 0 })
    } else if (character === '}' || character === ']') levels.pop()
    else if (character === ',' && level?.isArray === true) level.count++
    else if (character >= '0' && character <= '9' && level !== undefined && channelNames.test(level.name)) {
      marks.push(character)
    }
  }
  const mark = marks.join(' ')
  return found.map(({ start, end, path }) => ({ start, end, channel: `${path} ${mark}` }))
}
