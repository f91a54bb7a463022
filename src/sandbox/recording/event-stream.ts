interface StreamPart {
  readonly text: string
  /** The whole event that this part completes; undefined for a part that does not. */
  readonly event: string | undefined
}

/** Splits the text of an event stream into its events, each with the blank line that ends it. */
export function createEventSplitter() {
  let pieces: string[] = []
  let openLength = 0
  /** The end of the open event: the line ends after it may have begun there. */
  let tail = ''
  return {
    /** @returns the parts of events in this text, in order; the last one may be the beginning of an event */
    push(text: string): readonly StreamPart[] {
      const parts: StreamPart[] = []
      // Two line ends in a row; a lone CR at the end may be the first half of one.
      const end = /(?:\r\n|\n|\r(?!\n|$)){2}/g
      const all = tail + text
      let start = tail.length
      for (let match = end.exec(all); match !== null; match = end.exec(all)) {
        // Whether a CR at the end of the piece before was a whole line end has shown only now.
        const stop = match.index + match[0].length
        const own = all.slice(start, stop)
        parts.push({ text: own, event: pieces.join('') + own })
        pieces = []
        openLength = 0
        tail = ''
        start = Math.max(start, stop)
      }
      const rest = all.slice(start)
      if (rest !== '') {
        parts.push({ text: rest, event: undefined })
        pieces.push(rest)
        openLength += rest.length
        tail = (tail + rest).slice(-4)
      }
      return parts
    },
    get open() {
      return pieces.join('')
    },
    get openLength() {
      return openLength
    },
  }
}

/** How JSON is laid out: white space is part of a reply, and has to come back as it was. */
export const layouts = ['compact', 'spaced', 'spaced-lists', 'indented', 'indented-line'] as const
type Layout = (typeof layouts)[number]

/** Writes JSON as services do: without white space, as Google's streams, as Python, and over several lines. */
export function writeJson(value: unknown, layout: Layout): string {
  switch (layout) {
    case 'compact':
      return JSON.stringify(value)
    case 'spaced':
      return JSON.stringify(value, null, 1).replace(/\n */g, '')
    case 'spaced-lists':
      return JSON.stringify(value, null, 1).replace(/,\n */g, ', ').replace(/\n */g, '')
    case 'indented':
      return JSON.stringify(value, null, 2)
    case 'indented-line':
      return `${JSON.stringify(value, null, 2)}\n`
  }
}

/** Newer than TypeScript's library: numbers as they were written. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): object }
type Reviver = (name: string, value: unknown, context: { readonly source?: string }) => unknown
const parseWith = JSON.parse as (text: string, reviver: Reviver) => unknown

/** Parses JSON; a number that JavaScript would write differently (`1.0`) stays as it is. */
export function parseExactly(text: string): unknown {
  return parseWith(text, (_, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? rawJSON(source) : value,
  )
}

/** The value and the layout of a JSON text; undefined for text that cannot be written again exactly. */
export function layOut(text: string): { readonly json: unknown; readonly layout: Layout } | undefined {
  try {
    const json = parseExactly(text)
    const layout = layouts.find((name) => writeJson(json, name) === text)
    return layout && { json, layout }
  } catch {
    return undefined
  }
}

/** An event that consists of data, after its name if it has one. */
const plainEvent = /^(?:event: ([^\r\n]*)(\r?\n))?data: ([^\r\n]*)(\r?\n)\4$/

interface EventFields {
  readonly event?: string | undefined
  readonly data: unknown
  readonly layout?: Layout | undefined
  readonly lines?: 'crlf' | undefined
}

/** An event by its fields; undefined for one that they cannot express exactly. */
export function eventFields(text: string): EventFields | undefined {
  const [, event, , data] = plainEvent.exec(text) ?? []
  const json = data === undefined ? undefined : layOut(data)
  if (json === undefined) return undefined
  const fields: EventFields = {
    ...(event !== undefined && { event }),
    ...(json.layout !== 'compact' && { layout: json.layout }),
    ...(text.endsWith('\r\n') && { lines: 'crlf' }),
    data: json.json,
  }
  return eventText(fields) === text ? fields : undefined
}

/** The text of an event. */
export function eventText({ event, data, layout = 'compact', lines }: EventFields): string {
  const end = lines === 'crlf' ? '\r\n' : '\n'
  const name = event === undefined ? '' : `event: ${event}${end}`
  return `${name}data: ${writeJson(data, layout)}${end}${end}`
}
