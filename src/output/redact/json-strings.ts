/** A string value within JSON, without its quotation marks. */
export interface StringPlace {
  readonly start: number
  readonly end: number
  /** What tells which text the string is a piece of: where in the document it stands, and the numbers and ids there. */
  readonly channel: string
}

/** Which of several texts a piece belongs to, where a stream has more than one. */
const channelNames = /^(?:type|index|id|[a-z_]+_(?:index|id))$/

interface Level {
  readonly isArray: boolean
  readonly path: string
  name: string
  count: number
}

/**
 * The string values of a JSON document. Uses no recursion and throws nothing: of what is no JSON it finds what looks
 * like strings.
 */
export function stringsIn(json: string): StringPlace[] {
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

/** Of a string that begins at `start`; the end of the text where there is none. */
function closingQuote(json: string, start: number): number {
  let at = start + 1
  while (at < json.length && json[at] !== '"') at += json[at] === '\\' ? 2 : 1
  return Math.min(at, json.length)
}
