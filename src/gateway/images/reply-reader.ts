import { isBlank } from '../reply-body.ts'
import {
  htmlHeadLength,
  htmlReply,
  maxEventLines,
  plainFailure,
  tooManyLines,
  truncated,
} from '../reply-errors.ts'
import {
  createDocumentScanner,
  readAll,
  type DocumentHandlers,
  type DocumentScanner,
} from './document-scanner.ts'

/** Reads one framing of a reply. */
interface FramingReader {
  push(bytes: Buffer): Promise<void>
  /** The bytes have ended. @throws ModelgateError `stream_truncated` inside a message */
  end(): Promise<void>
  /** Nothing more is expected: `[DONE]` was received. */
  readonly done: boolean
}

/** Reads the reply to an image request, whatever its framing. */
export interface ReplyReader extends FramingReader {
  /** The name of the event that is being read, empty when it has none. */
  readonly eventName: string
  readonly isEventStream: boolean
  /** How many bytes of messages have come; comments and white space do not count. */
  readonly bytesRead: number
}

/**
 * Decides the framing by the first character, as events/message-reader.ts does: `{` or `[` is JSON, `<` is HTML,
 * the rest is an event stream.
 * @throws ContractError for HTML, for what is not JSON, and for an object over the limits;
 *   GenerationError when a failure is written into the stream as plain text
 */
export function createReplyReader(handlers: DocumentHandlers): ReplyReader {
  const scanner = createDocumentScanner(handlers)
  let events: EventReader | undefined
  let reader: FramingReader | undefined
  /** The beginning of an HTML page. */
  let html: string | undefined
  /** How many bytes of a byte order mark have come. */
  let markBytes = 0

  const choose = (first: number): FramingReader =>
    first === OPEN_OBJECT || first === OPEN_ARRAY
      ? createJsonReader(scanner)
      : (events = createEventReader(scanner))

  return {
    async push(bytes) {
      if (reader !== undefined) return reader.push(bytes)
      let at = 0
      if (html === undefined) {
        while (at < bytes.length && (isBlank(bytes[at]!) || bytes[at] === byteOrderMark[markBytes])) {
          if (!isBlank(bytes[at]!)) markBytes++
          at++
        }
        if (at === bytes.length) return
        if (bytes[at] !== LESS_THAN) {
          reader = choose(bytes[at]!)
          return reader.push(bytes.subarray(at))
        }
      }
      html = (html ?? '') + bytes.toString('utf8', at, at + htmlHeadLength)
      if (html.length >= htmlHeadLength || /<\/title/i.test(html)) throw htmlReply(html)
    },
    async end() {
      if (html !== undefined) throw htmlReply(html)
      await reader?.end()
    },
    get done() {
      return reader?.done ?? false
    },
    get eventName() {
      return events?.eventName ?? ''
    },
    get isEventStream() {
      return events !== undefined
    },
    get bytesRead() {
      return scanner.bytesRead
    },
  }
}

/** JSON from its first character: one object, several, or an array of them. */
function createJsonReader(scanner: DocumentScanner): FramingReader {
  return {
    push: (bytes) => readAll(scanner, bytes),
    async end() {
      if (!scanner.idle) throw truncated()
    },
    done: false,
  }
}

const OPEN_OBJECT = 123
const OPEN_ARRAY = 91
const LESS_THAN = 60
const byteOrderMark = [0xef, 0xbb, 0xbf]

interface EventReader extends FramingReader {
  /** The name of the event that is being read, empty when it has none so far. */
  readonly eventName: string
}

/** `data: ` and `event:` */
const leadLength = 6
/** Of data that is not JSON no more is kept. */
const maxTextLength = 4096
const lineFeed = Buffer.from('\n')

/**
 * Reads an event stream whose events are JSON objects and hands their bytes to the scanner while they arrive:
 * no event is held in memory. Handles what relays do to such streams (quirks 3 to 9), as events/event-reader.ts
 * does: comments passed on as data, one object over several events, JSON without `data:`, failures as plain text.
 */
export function createEventReader(scanner: DocumentScanner, maxLines = maxEventLines): EventReader {
  const lines = createLineSplitter()
  /** What the current line is; undefined until enough of it has come. */
  let line: 'data' | 'event' | 'bare' | 'other' | undefined
  let lead = ''
  /** Data that may not be JSON; undefined once it is known to be. */
  let text: string | undefined
  let dataLines = 0
  let eventName = ''
  let done = false

  const takeLead = async () => {
    const start = lead
    lead = ''
    if (start.startsWith('data:')) return beginData(start.slice(5).replace(/^ /, ''))
    if (start === 'event:') {
      line = 'event'
      eventName = ''
      return
    }
    line = scanner.idle && /^\s*[{[]/.test(start) ? 'bare' : 'other'
    if (line === 'bare') await takeBare(Buffer.from(start, 'latin1'))
  }

  const beginData = async (content: string) => {
    const isComment = scanner.inImage && content.startsWith(':')
    line = isComment ? 'other' : 'data'
    if (isComment) return
    text = scanner.idle ? '' : undefined
    if (dataLines === maxLines) throw tooManyLines()
    if (dataLines++ > 0 && !scanner.idle) await readAll(scanner, lineFeed)
    await takeData(Buffer.from(content, 'latin1'))
  }

  const takeData = async (content: Buffer) => {
    if (text === undefined) return readAll(scanner, content)
    const start = text + content.toString('latin1', 0, maxTextLength - text.length)
    if (!/^\s*\[?\s*\{/.test(start)) {
      text = start
      return
    }
    const before = Buffer.from(text, 'latin1')
    text = undefined
    await readAll(scanner, before)
    await readAll(scanner, content)
  }

  const endData = () => {
    const data = text?.trim() ?? ''
    text = undefined
    if (data === '[DONE]') done = true
    // An empty event is a ping; a comment may be passed on as data (quirk 4).
    else if (data !== '' && !data.startsWith(':') && !isJson(data)) {
      throw plainFailure(Buffer.from(data, 'latin1').toString())
    }
  }

  /** An object without `data:` may span several lines; what follows it on its last line is ignored. */
  const takeBare = async (content: Buffer) => {
    await scanner.read(content)
    if (scanner.idle) line = 'other'
  }

  const takePart = async (content: Buffer) => {
    let rest = content
    if (line === undefined) {
      const taken = Math.min(leadLength - lead.length, content.length)
      lead += content.toString('latin1', 0, taken)
      rest = content.subarray(taken)
      if (lead.length === leadLength) await takeLead()
    }
    if (rest.length === 0) return
    if (line === 'data') await takeData(rest)
    else if (line === 'bare') await takeBare(rest)
    else if (line === 'event') eventName = (eventName + rest.toString('latin1')).trimStart().slice(0, 100)
  }

  const endLine = async () => {
    if (line === undefined && lead !== '') await takeLead()
    if (line === 'bare') return takeBare(lineFeed)
    if (line === 'data') endData()
    if (line === undefined) {
      // A blank line ends the event, though not an object that was split over two events.
      dataLines = 0
      eventName = ''
    }
    line = undefined
  }

  return {
    async push(bytes) {
      for (let at = 0; at < bytes.length && !done;) {
        const part = lines.next(bytes, at)
        if (part === undefined) return
        at = part.next
        await takePart(part.content)
        if (part.ended) await endLine()
      }
    },
    async end() {
      if (done) return
      await endLine()
      if (!done && !scanner.idle) throw truncated()
    },
    get done() {
      return done
    },
    get eventName() {
      return eventName
    },
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const LINE_FEED = 10
const CARRIAGE_RETURN = 13

/** Splits chunks of bytes into lines, without collecting them. Lines end with LF, CR or CRLF, even one cut in two. */
function createLineSplitter() {
  let afterReturn = false
  /** Where the next CR is, so that a chunk with many lines is searched only once. */
  let searched: { readonly bytes: Buffer; readonly at: number } | undefined

  const nextReturn = (bytes: Buffer, from: number): number => {
    if (searched?.bytes !== bytes || (searched.at !== -1 && searched.at < from)) {
      searched = { bytes, at: bytes.indexOf(CARRIAGE_RETURN, from) }
    }
    return searched.at
  }
  return {
    /** The next part of a line: its bytes, whether its line ends with it, and where the rest begins. */
    next(bytes: Buffer, start: number) {
      const from = afterReturn && bytes[start] === LINE_FEED ? start + 1 : start
      if (start < bytes.length) afterReturn = false
      if (from >= bytes.length) return undefined
      const lineFeed = bytes.indexOf(LINE_FEED, from)
      const carriageReturn = nextReturn(bytes, from)
      const end =
        carriageReturn === -1 || (lineFeed !== -1 && lineFeed < carriageReturn) ? lineFeed : carriageReturn
      if (end === -1) return { content: bytes.subarray(from), ended: false, next: bytes.length }
      afterReturn = bytes[end] === CARRIAGE_RETURN
      return { content: bytes.subarray(from, end), ended: true, next: end + 1 }
    },
  }
}
