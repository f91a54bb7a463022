/** Splits the text of an event stream into its events, each with the blank line that ends it. */
export interface EventSplitter {
  /** @returns the parts of events in this text, in order; the last one may be the beginning of an event */
  push(text: string): readonly StreamPart[]
  /** What has come of an event that has not ended. */
  readonly open: string
}

interface StreamPart {
  readonly text: string
  /** The whole event that this part completes; undefined for a part that does not. */
  readonly event: string | undefined
}

export function createEventSplitter(): EventSplitter {
  let open = ''
  return {
    push(text) {
      const parts: StreamPart[] = []
      // Two line ends in a row; a lone CR at the end may be the first half of one.
      const end = /(?:\r\n|\n|\r(?!\n|$)){2}/g
      const all = open + text
      let sent = open.length
      let start = 0
      end.lastIndex = Math.max(0, open.length - 4)
      for (let match = end.exec(all); match !== null; match = end.exec(all)) {
        const stop = match.index + match[0].length
        // Whether a CR at its end was a whole line end has shown only now.
        parts.push({ text: all.slice(sent, stop), event: all.slice(start, stop) })
        sent = Math.max(sent, stop)
        start = stop
      }
      open = all.slice(start)
      if (sent < all.length) parts.push({ text: all.slice(sent), event: undefined })
      return parts
    },
    get open() {
      return open
    },
  }
}

/** How JSON is laid out: white space is part of a reply, and has to come back as it was. */
export const layouts = ['compact', 'spaced', 'spaced-lists', 'indented', 'indented-line'] as const
export type Layout = (typeof layouts)[number]

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

export interface EventFields {
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
