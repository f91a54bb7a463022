import { createEventReader, type EventReader, type MessageHandlers } from './event-reader.ts'
import { htmlReply } from '../reply-errors.ts'
import { isAscii } from 'node:buffer'

/** Bytes read at a time. Larger texts would outlive the collections of the young generation, and stay by the thousands. */
const sliceBytes = 65_536

/** An event may hold an image of 50 MB as base64. */
export const maxMessageCharacters = 96 * 1024 ** 2

/**
 * Reads a reply as messages. The first character decides the framing, since the content type cannot be trusted: `{` or `[` is
 * JSON, `<` is HTML, the rest is an event stream, with all that relays do to it (wire notes, quirks 1 to 9).
 * @throws ContractError for HTML, a message that is not JSON or over the limit; GenerationError for a failure as plain text
 */
export function createMessageReader(handlers: MessageHandlers, limit = maxMessageCharacters) {
  const decode = createTextDecoder()
  let reader: EventReader | undefined
  let head = ''

  const begin = (final: boolean): void => {
    // White space before the reply may come forever: none is kept, nor is a byte order mark.
    head = head.replace(/^[\s\uFEFF]+/, '')
    const first = head[0]
    if (first === undefined) return
    if (first === '<') {
      if (!final && head.length < 4096 && !/<\/title/i.test(head)) return
      throw htmlReply(head)
    }
    reader = createEventReader(handlers, limit, first === '{' || first === '[')
    const begun = head
    head = ''
    reader.push(begun)
  }
  return {
    push(bytes: Uint8Array) {
      for (let at = 0; at < bytes.length; at += sliceBytes) {
        const text = decode(bytes.subarray(at, at + sliceBytes))
        if (reader !== undefined) reader.push(text)
        else {
          head += text
          begin(false)
        }
      }
    },
    /** Delivers a last message that was not closed by a blank line. */
    end() {
      // The tail of a cut character is dropped, not shown as U+FFFD: the stream is truncated anyway (fault E6).
      if (reader === undefined) begin(true)
      reader?.end()
    },
    get done() {
      return reader?.done ?? false
    },
    get pending() {
      return head.length + (reader?.pending ?? 0)
    },
    get messages() {
      return reader?.messages ?? 0
    },
    get isEventStream() {
      return reader?.isEventStream ?? false
    },
    unfinished: () => reader?.unfinished() ?? { text: '', name: undefined },
  }
}

/** What is not UTF-8 becomes U+FFFD. ASCII, most streams, is not given to TextDecoder: a tenth less time for a long answer. */
function createTextDecoder() {
  let decoder: TextDecoder | undefined
  return (bytes: Uint8Array): string => {
    if (decoder === undefined && isAscii(bytes)) {
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
    }
    decoder ??= new TextDecoder('utf-8', { ignoreBOM: true })
    return decoder.decode(bytes, { stream: true })
  }
}
