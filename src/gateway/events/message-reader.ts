import { maxMessageCharacters } from '../../contract/limits.ts'
import { createEventReader } from './event-reader.ts'
import { createJsonReader } from './json-reader.ts'
import type { MessageHandlers, TextReader } from './message.ts'
import { htmlReply } from './reader-errors.ts'
import { createTextDecoder } from './text-decoder.ts'

/** What a streamed reply consists of, whatever its framing: JSON messages, and perhaps a `[DONE]`. */
export interface MessageReader {
  /** Bytes as they come, cut anywhere. */
  push(bytes: Uint8Array): void
  /** The body has ended: delivers a last message that was not closed by a blank line. */
  end(): void
  /** Nothing more is expected: `[DONE]` came. */
  readonly done: boolean
  /** How many characters have come of a message that has begun and not ended. */
  readonly pending: number
}

/**
 * So many bytes are read at a time. A larger text would outlive the collection of short-lived garbage, and thousands
 * of them would be kept until the next full one.
 */
const sliceBytes = 65_536

/** How much of an HTML page is read to find its title. */
const htmlHeadLength = 4096

/**
 * Reads a reply as messages. The framing is found from the first character, since the content type
 * does not tell it (wire facts, second general rule): `{` or `[` is JSON, `<` is HTML, the rest is an event stream.
 *
 * Survives what relays do (wire facts, quirks 1 to 9): comments, `[DONE]`, events without `event:` lines,
 * a JSON message without `data:` in the middle of an event stream, one message cut over two events.
 *
 * @throws ContractError for HTML, a message that is not JSON, and a message over the limit;
 *   GenerationError when the gateway writes a failure as plain text into the stream
 */
export function createMessageReader(handlers: MessageHandlers, limit = maxMessageCharacters): MessageReader {
  const decoder = createTextDecoder()
  let reader: TextReader | undefined
  let head = ''

  const choose = (final: boolean): TextReader | undefined => {
    // Blanks before the reply may come for ever: none is kept.
    head = head.replace(/^[\s\uFEFF]+/, '')
    const first = head[0]
    if (first === undefined) return final ? emptyReader : undefined
    if (first === '<') {
      if (!final && head.length < htmlHeadLength && !/<\/title/i.test(head)) return undefined
      throw htmlReply(head)
    }
    return first === '{' || first === '['
      ? createJsonReader(handlers, limit)
      : createEventReader(handlers, limit)
  }
  const feed = (text: string, final: boolean) => {
    if (text !== '') {
      if (reader !== undefined) return reader.push(text)
      head += text
    }
    reader ??= choose(final)
    if (reader === undefined || head === '') return
    const begun = head
    head = ''
    reader.push(begun)
  }
  return {
    push(bytes) {
      for (let at = 0; at < bytes.length; at += sliceBytes) {
        feed(decoder.decode(bytes.subarray(at, at + sliceBytes)), false)
      }
    },
    end() {
      // The tail of a cut character is dropped, not shown as U+FFFD: the stream is truncated anyway (fault E6).
      feed('', true)
      reader?.end()
    },
    get done() {
      return reader?.done ?? false
    },
    get pending() {
      return head.length + (reader?.pending ?? 0)
    },
  }
}

const emptyReader: TextReader = { push() {}, end() {}, done: false, pending: 0 }
