import { createParser } from 'eventsource-parser'
import { ContractError, GenerationError, ModelgateError } from '../../errors.ts'
import { createLineBuffer } from './line-buffer.ts'
import { createJsonValueSplitter, type JsonValueSplitter } from './json-values.ts'

/** What a streamed reply consists of, whatever its framing: JSON messages, and perhaps a `[DONE]`. */
export interface MessageReader {
  /** Bytes as they come, cut anywhere. */
  push(bytes: Uint8Array): void
  /** The body has ended: delivers a last message that was not closed by a blank line. */
  end(): void
  /** Nothing more is expected: `[DONE]` came. */
  readonly done: boolean
}

export interface MessageHandlers {
  /** Offered the text of a message before it is parsed; true when nothing more is needed of it. */
  skim?(text: string): boolean
  /** A JSON value and its text as it came. */
  onMessage(value: unknown, text: string): void
  /** A sign of life that carries nothing: a comment, a ping. */
  onComment?(): void
}

/** A single event may hold a 50 MB image as base64 (faults, section 1.5). */
export const maxEventCharacters = 96 * 1_048_576

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
  const decoder = new TextDecoder()
  let reader: MessageReader | undefined
  let head = ''

  const choose = (final: boolean): MessageReader | undefined => {
    // Blanks before the reply may come for ever: none is kept.
    head = head.replace(/^[\s\uFEFF]+/, '')
    const first = head[0]
    if (first === undefined) return final ? emptyReader : undefined
    if (first === '<') {
      if (!final && head.length < htmlHeadLength && !/<\/title/i.test(head)) return undefined
      throw htmlReply(head)
    }
    return first === '{' || first === '[' ? jsonReader(handlers, limit) : eventReader(handlers, limit)
  }
  const feed = (text: string, final: boolean) => {
    if (text !== '') {
      if (reader !== undefined) return pushText(reader, text)
      head += text
    }
    reader ??= choose(final)
    if (reader === undefined || head === '') return
    const begun = head
    head = ''
    pushText(reader, begun)
  }
  return {
    push: (bytes) => feed(decoder.decode(bytes, { stream: true }), false),
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

interface TextReader extends MessageReader {
  pushText(text: string): void
}

const pushText = (reader: MessageReader, text: string) => (reader as TextReader).pushText(text)
const emptyReader: TextReader = { push() {}, pushText() {}, end() {}, done: false }

function htmlReply(text: string): ContractError {
  const title = /<title[^>]*>([^<]*)/i.exec(text)?.[1]?.replaceAll(/\s+/g, ' ').trim().slice(0, 200)
  return new ContractError(
    'html_reply',
    `The gateway answered with an HTML page${title ? `, "${title}"` : ''}.`,
    {
      hint: 'Check the base URL (--base-url): a proxy or a web site answers there.',
    },
  )
}

function tooLarge(limit: number): ContractError {
  return new ContractError(
    'message_too_large',
    `A single message of the reply is larger than ${Math.round(limit / 1_048_576)} MiB.`,
  )
}

/** The message is told without its content: error messages carry no prompt or reply (faults, S15). */
function malformed(): ContractError {
  return new ContractError('malformed_message', 'A message of the reply is not valid JSON.')
}

function jsonReader(handlers: MessageHandlers, limit: number): TextReader {
  const splitter = createJsonValueSplitter(
    (text) => handlers.onMessage(parse(text, limit), text),
    () => {
      throw malformed()
    },
  )
  return {
    push() {},
    pushText(text) {
      splitter.feed(text)
      if (splitter.pendingLength > limit) throw tooLarge(limit)
    },
    end() {
      if (splitter.pendingLength > 0) throw cut()
    },
    done: false,
  }
}

function parse(text: string, limit: number): unknown {
  if (text.length > limit) throw tooLarge(limit)
  try {
    return JSON.parse(text)
  } catch {
    throw malformed()
  }
}

/** The body ended inside a message. */
function cut(): ModelgateError {
  return new ModelgateError('unknown', 'stream_truncated', 'The reply was cut off in the middle.', {
    phase: 'stream',
    billed: 'maybe',
    hint: 'Check your usage before you run it again.',
  })
}

/** How many events one message may be cut over (quirk 5 was seen with two). */
const maxPieces = 8

function eventReader(handlers: MessageHandlers, limit: number): TextReader {
  /** JSON that came without `data:`, line by line. */
  let bare: JsonValueSplitter | undefined
  /** The beginning of a message that did not parse by itself. */
  let pieces: string[] = []
  let done = false
  let ending = false
  let overflow = false

  const onData = (data: string) => {
    if (done) return
    if (data === '[DONE]') {
      if (pieces.length > 0) throw malformed()
      done = true
      return
    }
    if (isComment(data, pieces.length > 0)) return handlers.onComment?.()
    if (data.length > limit) throw tooLarge(limit)
    if (pieces.length === 0 && handlers.skim?.(data)) return
    const text = pieces.length === 0 ? data : pieces.join('') + data
    if (text.length > limit) throw tooLarge(limit)
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      return keepPiece(data)
    }
    pieces = []
    handlers.onMessage(value, text)
  }

  /** What does not parse may be the first part of a message that was cut over several events. */
  const keepPiece = (data: string) => {
    if (pieces.length === 0 && !/^\s*["[{]/.test(data)) throw plainFailure(data)
    if (pieces.length > 0 && tryParse(data) !== undefined) throw malformed()
    pieces.push(data)
    if (pieces.length >= maxPieces) throw malformed()
  }

  const onBareLine = (line: string) => {
    if (done) return
    if (bare === undefined) {
      if (!/^\s*[{[]/.test(line)) return
      bare = createJsonValueSplitter(
        (text) => {
          bare = undefined
          handlers.onMessage(parse(text, limit), text)
        },
        () => {},
      )
    }
    bare.feed(`${line}\n`)
    if (bare !== undefined && bare.pendingLength > limit) throw tooLarge(limit)
  }

  const parser = createParser({
    maxBufferSize: limit,
    onEvent: ({ data }) => onData(data),
    onComment: () => handlers.onComment?.(),
    onError(error) {
      if (error.type === 'max-buffer-size-exceeded') overflow = true
      else if (error.type === 'unknown-field') onBareLine(error.line ?? '')
    },
  })

  // The parser drops an unknown line that is cut over two feeds; JSON without `data:` consists of such lines.
  const lines = createLineBuffer((text) => parser.feed(text))

  return {
    push() {},
    pushText(text) {
      lines.push(text)
      if (overflow || lines.length > limit) throw tooLarge(limit)
    },
    end() {
      if (ending) return
      ending = true
      const inLine = pieces.length === 0
      // A complete last event without its blank line still counts (quirk 7); a half one is a cut.
      lines.push('\n\n')
      if (done) return
      if (bare !== undefined && bare.pendingLength > 0) throw cut()
      if (pieces.length > 0) throw inLine || isUnclosed(pieces.join('')) ? cut() : malformed()
    },
    get done() {
      return done
    },
  }
}

/** Words after a colon, as no JSON has them outside of a string. */
const wordsAfterColon = /^:\s*[^\s"[{\-\dtfn][^"{}[\]\\]*$/

/**
 * A comment that a relay passed on as data (quirk 4); an empty event is a ping.
 * In the middle of a message that was cut over two events, a colon may as well be the message's own.
 */
function isComment(data: string, inMessage: boolean): boolean {
  return data === '' || (inMessage ? wordsAfterColon.test(data) : data.startsWith(':'))
}

/** Whether an object begins in the text and does not end (fault E17). */
function isUnclosed(text: string): boolean {
  const splitter = createJsonValueSplitter(ignore, ignore)
  splitter.feed(text)
  return splitter.pendingLength > 0
}

function ignore(): void {}

function tryParse(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** Relays write a failure as `data: plain text` (quirk 9). */
function plainFailure(text: string): GenerationError {
  return new GenerationError('stream_error', `The gateway broke off: ${text.slice(0, 400)}`)
}
