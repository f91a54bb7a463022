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
}

/** A single event may hold a 50 MB image as base64 (faults, section 1.5). */
const maxEventCharacters = 96 * 1_048_576

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
export function createMessageReader(handlers: MessageHandlers, limit = maxEventCharacters): MessageReader {
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
    push: (bytes) => feed(decoder.decode(bytes), false),
    end() {
      // The tail of a cut character is dropped, not shown as U+FFFD: the stream is truncated anyway (fault E6).
      feed('', true)
      reader?.end()
    },
    get done() {
      return reader?.done ?? false
    },
  }
}

const emptyReader: TextReader = { push() {}, end() {}, done: false }
