/** Takes the usual messages of a long answer as text, which is faster than parsing them. */
export interface FastPath {
  /** How messages like one that has been parsed are taken; undefined when they have to be parsed, too. */
  shapeOf(message: unknown, json: string): MessageShape | undefined
}

/** Messages that differ from one of them only in a text, and in what does not matter. */
export interface MessageShape {
  /** The whole JSON of such a message, as the source of a regular expression without anchors; its one group is the text. */
  readonly pattern: string
  /** Whether the texts of messages that have come together may be taken as one, which is faster. */
  readonly joins: boolean
  /**
   * Takes a message without its being parsed.
   * @param text the content of the string, with its escapes
   * @param event the event that the message came in, or the last of several
   */
  take(text: string, event: string): void
}

/** So many messages in a row are parsed before one of them is taken for usual: a pattern is not worth it for short answers. */
const parsedFirst = 8
/** How many shapes are known at a time: some streams mix reasoning, text and other pieces. */
const maxShapes = 4

/** Takes the events of a stream that are like earlier ones. An event that is named an error is never one of them. */
export function createSkimmer({ shapeOf }: FastPath) {
  const known: { readonly event: RegExp; readonly shape: MessageShape }[] = []
  let parsed = 0
  return {
    /** Takes events from a position on, and returns where the first unusual one begins. */
    skim(text: string, from: number): number {
      let at = from
      for (let tried = 0; tried < known.length; tried++) {
        const { event, shape } = known[0]!
        let texts = ''
        let last = ''
        event.lastIndex = at
        for (let match = event.exec(text); match !== null; match = event.exec(text)) {
          at = event.lastIndex
          tried = 0
          last = match[0]
          if (shape.joins) texts += match[1]!
          else shape.take(match[1]!, last)
        }
        if (shape.joins && last !== '') shape.take(texts, last)
        // The one that fits next is tried first from then on.
        known.push(known.shift()!)
      }
      if (at > from) parsed = 0
      return at
    },
    /** Learns from a message that had to be parsed. */
    parsed(message: unknown, json: string): void {
      if (++parsed < parsedFirst) return
      parsed = 0
      const shape = shapeOf(message, json)
      if (shape === undefined) return
      const event = new RegExp(
        String.raw`(?:event: ?(?!error|upstream_error)[\w.]*(?:\n|\r\n))?data: ?${shape.pattern}(?:\n\n|\r\n\r\n)`,
        'y',
      )
      known.unshift({ event, shape })
      known.length = Math.min(known.length, maxShapes)
    },
  }
}

/**
 * What stands in a place of a message: the text; a value that is the same in all messages of the shape; or any value of the
 * same kind, since nobody looks at it.
 */
export type Place = 'text' | 'same' | 'any'

/** Longer messages are no pieces of a text. */
const maxCharacters = 4_096
const maxDepth = 8

/** The content of a string. Unrolled, so that there is no backtracking per character. */
const characters = String.raw`[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[^"\\\u0000-\u001f]*)*`
const number = String.raw`-?(?:0|[1-9]\d{0,16})(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?`

/**
 * The pattern of all messages of the shape that one of them has: the same fields in the same order, with the same white space.
 * Matching a whole message is faster than parsing it, and as strict: what is not JSON never matches. What differs between
 * replies is not part of it, so that V8 compiles it once for all replies of a gateway.
 * @param json the message, which has been parsed: it is JSON
 * @param placeOf says what stands at a path such as `candidates[0].index`
 * @returns undefined for a message without just one text, and for one that is not like the pieces of an answer
 */
export function patternOf(json: string, placeOf: (path: string) => Place): string | undefined {
  if (json.length > maxCharacters) return undefined
  const token = /\s*(?:"((?:[^"\\]|\\.)*)"\s*:|("(?:[^"\\]|\\.)*")|([[\]{},])|([^\s"[\]{},]+))/y
  const containers: Container[] = []
  let pattern = ''
  let texts = 0
  let copied = 0
  const copyTo = (end: number) => {
    pattern += json.slice(copied, end).replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)
    copied = end
  }
  while (token.lastIndex < json.length) {
    const [whole, key, string, sign, literal] = token.exec(json) ?? []
    // White space at the end.
    if (whole === undefined) break
    const inside = containers.at(-1)
    if (key !== undefined) {
      // Of two spellings of one name, the last would count.
      if (key.includes('\\')) return undefined
      inside!.key = key
    } else if (sign === '{' || sign === '[') {
      if (containers.length === maxDepth) return undefined
      containers.push({ path: pathOf(inside), isList: sign === '[', count: 0, key: '' })
    } else if (sign === ',') inside!.count++
    else if (sign !== undefined) containers.pop()
    else {
      const place = placeOf(pathOf(inside))
      const isText = place === 'text'
      if (isText && string === undefined) return undefined
      if (place === 'same' || (literal !== undefined && !/\d$/.test(literal))) continue
      copyTo(token.lastIndex - (string ?? literal!).length)
      pattern += string === undefined ? number : isText ? `"(${characters})"` : `"${characters}"`
      copied = token.lastIndex
      if (isText) texts++
    }
  }
  copyTo(json.length)
  return texts === 1 ? pattern : undefined
}

interface Container {
  readonly path: string
  readonly isList: boolean
  /** How many values of a list came before. */
  count: number
  /** The name of the last field of an object. */
  key: string
}

/** Where the next value of a container stands. */
function pathOf(inside: Container | undefined): string {
  if (inside === undefined) return ''
  const { path, isList, count, key } = inside
  return isList ? `${path}[${count}]` : path === '' ? key : `${path}.${key}`
}
