import { cut, htmlReply } from '../events/reader-errors.ts'
import {
  createDocumentScanner,
  readAll,
  type DocumentHandlers,
  type DocumentScanner,
} from './document-scanner.ts'
import { createEventReader, type EventReader, type FramingReader } from './event-reader.ts'

/** Reads the reply to an image request, whatever its framing. */
export interface ReplyReader extends FramingReader {
  /** The name of the event that is being read, empty when it has none. */
  readonly eventName: string
  readonly isEventStream: boolean
  /** How many bytes of messages have come; comments and blanks do not count. */
  readonly bytesRead: number
}

/** How much of an HTML page is read to find its title. */
const htmlHeadLength = 4096

/**
 * Finds the framing from the first character, as events/message-reader.ts does: `{` or `[` is JSON, `<` is HTML,
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
      if (!scanner.idle) throw cut()
    },
    done: false,
  }
}

const OPEN_OBJECT = 123
const OPEN_ARRAY = 91
const LESS_THAN = 60
const byteOrderMark = [0xef, 0xbb, 0xbf]

const isBlank = (byte: number) => byte === 32 || (byte >= 9 && byte <= 13)
