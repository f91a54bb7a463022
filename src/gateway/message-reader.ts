import { isAscii } from 'node:buffer'
import { createParser } from 'eventsource-parser'
import { ContractError } from '../errors.ts'
import { createGrowingText, type GrowingText } from '../growing-text.ts'
import { closingQuote, isObject, tryJson } from '../json.ts'
import {
  htmlReply,
  maxEventLines,
  malformed,
  plainFailure,
  tooLarge,
  tooManyLines,
  truncated,
} from './reply-errors.ts'

/** Takes the usual messages of a long answer as text, which is faster than parsing them. */
export interface FastPath {
  /** The JSON of such a message, its fields in their usual order: the source of an expression without anchors. */
  readonly pattern: string
  /** The group that is the text: the content of a string, with its escapes. */
  readonly textGroup: number
  /** Whether its text may be taken together with that of the one before it, which is faster. */
  joins(message: RegExpExecArray, before: RegExpExecArray): boolean
  /** @param text of one or more messages, with its escapes */
  take(text: string, last: RegExpExecArray): void
}

export interface MessageHandlers {
  readonly fastPath?: FastPath | undefined
  /** @param name of its event */
  onMessage(value: unknown, text: string, name?: string): void
}

/** Bytes read at a time. Larger texts would outlive the collections of the young generation, and stay by the thousands. */
const sliceBytes = 65_536

/** An event may hold an image of 50 MB as base64. */
export const maxMessageCharacters = 96 * 1024 ** 2

/** After this many in a row, the rest of a chunk is expected to be unusual, too. */
const manyUnusual = 16

/** How many events one message may be split over (quirk 5 was seen with two). */
const maxPieces = 8

/**
 * Reads a reply as messages. The first character decides the framing, since the content type cannot be trusted: `{` or `[` is
 * JSON, `<` is HTML, the rest is an event stream, with all that relays do to it (wire notes, quirks 1 to 9).
 * @throws ContractError for HTML, a message that is not JSON or over the limit; GenerationError for a failure as plain text
 */
export function createMessageReader(handlers: MessageHandlers, limit = maxMessageCharacters) {
  const decode = createTextDecoder()
  /** The beginning of the reply, until it shows what the framing is. */
  let head: string | undefined = ''
  let isJson = false

  const beginBare = () =>
    createJsonValueSplitter(
      (text) => {
        if (!isJson) bare = undefined
        messages++
        if (text.length > limit) throw tooLarge(limit)
        const value = tryJson(text)
        if (value === undefined) throw malformed()
        handlers.onMessage(value, text)
      },
      () => {
        if (isJson) throw malformed()
      },
    )
  /** JSON that came without `data:`, line by line. */
  let bare: ReturnType<typeof createJsonValueSplitter> | undefined
  /** The beginning of a message that did not parse by itself. */
  let pieces: string[] = []
  let done = false
  let messages = 0

  const onData = (data: string, name: string | undefined) => {
    if (done) return
    if (data === '[DONE]') {
      if (pieces.length > 0) throw malformed()
      done = true
      return
    }
    if (isComment(data, pieces.length > 0)) return
    const text = pieces.length === 0 ? data : pieces.join('') + data
    if (text.length > limit) throw tooLarge(limit)
    const value = tryJson(text)
    if (value === undefined) return keepPiece(data)
    pieces = []
    messages++
    if (isErrorEvent(name)) return handlers.onMessage(asFailure(value), text)
    handlers.onMessage(value, text, name)
  }

  /** What does not parse may be the first part of a message that was split over several events. */
  const keepPiece = (data: string) => {
    if (pieces.length === 0 && !/^\s*["[{]/.test(data)) throw plainFailure(data)
    if (pieces.length > 0 && tryJson(data) !== undefined) throw malformed()
    pieces.push(data)
    if (pieces.length >= maxPieces) throw malformed()
  }

  const onBareLine = (line: string) => {
    if (done) return
    if (bare === undefined) {
      if (!/^\s*[{[]/.test(line)) return
      bare = beginBare()
    }
    feedBare(`${line}\n`)
  }

  const feedBare = (text: string) => {
    bare?.feed(text)
    if (bare !== undefined && bare.pendingLength > limit) throw tooLarge(limit)
  }

  const parser = createParser({
    onEvent: ({ data, event }) => onData(data, event),
    onError({ type, line = '' }) {
      if (type === 'unknown-field') onBareLine(line)
    },
  })

  /** The beginning of an event, or of a line of bare JSON. The parser gets it whole: it would keep each line as an object. */
  let held = createGrowingText()
  /** The line end after it, which may be the first half of a blank line. */
  let lineEnd = ''
  let isBareLine = false
  /** Whether what is held back is more than comments. */
  let hasContent = false

  const hold = (text: string) => {
    lineEnd = isLineEnd(text.slice(-1)) ? /\r?\n$|\r$/.exec(text.slice(-2))![0] : ''
    hasContent ||= (held.length === 0 && !text.startsWith(':')) || /[\r\n]data:/.test(text)
    held.add(text.slice(0, text.length - lineEnd.length))
    if (held.length > limit) throw tooLarge(limit)
  }
  const release = (rest: string): string => {
    if (held.length === 0) return rest
    const text = held.toString() + rest
    held = createGrowingText()
    hasContent = false
    const hasMore = text.length > maxEventLines && !text.matchAll(anyLineEnd).drop(maxEventLines).next().done
    if (hasMore) throw tooManyLines()
    return text
  }

  const skim = handlers.fastPath && createSkimmer(handlers.fastPath)
  let unusual = 0
  /** Whether the next event is independent of everything before it. */
  const canSkim = () => held.length === 0 && pieces.length === 0 && bare === undefined && !done

  const read = (added: string) => {
    if (isJson) return feedBare(added)
    let text = lineEnd + added
    lineEnd = ''
    while (text !== '') {
      if (held.length === 0) {
        if (bare === undefined && isLineEnd(text)) text = text.replace(/^[\r\n]+/, '')
        const skimmed = skim !== undefined && canSkim() ? skim(text) : 0
        if (skimmed > 0) {
          unusual = 0
          messages++
          text = text.slice(skimmed)
        }
        isBareLine = bare !== undefined || text.startsWith('{') || text.startsWith('[')
      }
      const takesAll = skim === undefined || unusual >= manyUnusual
      const end = isBareLine ? endOfLine(text) : takesAll ? endOfEvents(text) : endOfEvent(text)
      if (end === 0) return hold(text)
      unusual++
      parser.feed(release(text.slice(0, end)))
      text = text.slice(end)
    }
  }

  const begin = (beginning: string, isAll: boolean): void => {
    // White space before the reply may come forever: none is kept, nor is a byte order mark.
    head = beginning.replace(/^[\s\uFEFF]+/, '')
    const first = head[0]
    if (first === undefined) return
    if (first === '<') {
      if (!isAll && head.length < 4096 && !/<\/title/i.test(head)) return
      throw htmlReply(head)
    }
    isJson = first === '{' || first === '['
    if (isJson) bare = beginBare()
    const begun = head
    head = undefined
    read(begun)
  }

  return {
    push(bytes: Uint8Array) {
      for (let at = 0; at < bytes.length; at += sliceBytes) {
        const text = decode(bytes.subarray(at, at + sliceBytes))
        if (head === undefined) read(text)
        else begin(head + text, false)
      }
    },
    /** Delivers a last message that was not closed by a blank line. */
    end() {
      // The tail of a cut character is dropped, not shown as U+FFFD: the stream is truncated anyway (fault E6).
      if (head !== undefined) begin(head, true)
      const isWhole = pieces.length > 0
      const isFieldCut =
        /(?:^|[\r\n])d(?:a(?:t(?:a(?:: ?)?)?)?)?$/.test(held.toString().slice(-7)) && lineEnd === ''
      // A complete last event without its blank line still counts (quirk 7); an incomplete one means a cut.
      parser.feed(release('') + '\n\n')
      if (done) return
      if (isFieldCut || (bare !== undefined && bare.pendingLength > 0)) throw truncated()
      if (pieces.length > 0) throw !isWhole || isUnclosed(pieces.join('')) ? truncated() : malformed()
    },
    /** `[DONE]` was received. */
    get done() {
      return done
    },
    get pending() {
      return (head?.length ?? 0) + (hasContent ? held.length : 0) + (bare?.pendingLength ?? 0)
    },
    /** Those that were taken together count once. */
    get messages() {
      return messages
    },
    get isEventStream() {
      return head === undefined && !isJson
    },
    unfinished(): { readonly text: string; readonly name: string | undefined } {
      const text = held.toString()
      if (bare !== undefined) return { text: bare.pendingText() + text, name: undefined }
      const lines = text.split(/\r\n|\n|\r/)
      const valuesOf = (field: RegExp) => lines.flatMap((line) => field.exec(line)?.[1] ?? [])
      const data = isBareLine ? text : valuesOf(/^data: ?(.*)$/s).join('\n')
      return { text: pieces.join('') + data, name: valuesOf(/^event: ?(.*)$/s).at(-1) }
    },
  }
}

/** The value of an event that is named an error, in a form that shows it. */
function asFailure(value: unknown): unknown {
  const saysSo = isObject(value) && (Boolean(value['error']) || isErrorEvent(value['type']))
  return saysSo ? value : { error: value ?? true }
}

/** Words after a colon, which JSON has only inside a string. */
const wordsAfterColon = /^:\s*[^\s"[{\-\dtfn][^"{}[\]\\]*$/

/** A comment that a relay passed on as data (quirk 4); an empty event is a ping. Inside a split message it may be a part. */
function isComment(data: string, inMessage: boolean): boolean {
  return data === '' || (inMessage ? wordsAfterColon.test(data) : data.startsWith(':'))
}

/** Whether the text contains the beginning of an object without its end (fault E17). */
function isUnclosed(text: string): boolean {
  const splitter = createJsonValueSplitter(ignore, ignore)
  splitter.feed(text)
  return splitter.pendingLength > 0
}

function ignore(): void {}

const blankLine = /\n\n|[\r\n]\r\n?/g

/** Where the first event of a text ends, and the next begins; 0 when it does not. */
function endOfEvent(text: string, from = 0): number {
  blankLine.lastIndex = from
  return blankLine.test(text) ? blankLine.lastIndex : 0
}

/** Where the last whole event ends. Most streams have nothing but line feeds between their lines. */
function endOfEvents(text: string): number {
  const last = text.lastIndexOf('\n\n')
  if (last !== -1) return last + 2
  let end = 0
  for (let next = endOfEvent(text); next > 0; next = endOfEvent(text, next)) end = next
  return end
}

function isLineEnd(text: string): boolean {
  return text.startsWith('\n') || text.startsWith('\r')
}

const anyLineEnd = /\r\n?|\n/g

function endOfLine(text: string): number {
  const found = /\r\n?|\n/.exec(text)
  return found === null ? 0 : found.index + found[0].length
}

/** Whether an event of this type reports a failure (wire notes, section 2, and quirk 17). */
export function isErrorEvent(type: unknown): boolean {
  return type === 'error' || type === 'upstream_error'
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

/** Patterns of JSON values. The content of a string is unrolled, so that there is no backtracking per character. */
export const characters = String.raw`[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[^"\\\u0000-\u001f]*)*`
export const count = String.raw`(?:0|[1-9]\d{0,14})`
export const plainString = String.raw`"[^"\\\u0000-\u001f]*"`

export function unescapeJson(characters: string): string {
  return characters.includes('\\') ? (JSON.parse(`"${characters}"`) as string) : characters
}

/**
 * Takes usual events, of which none is named an error.
 * @returns takes events from the beginning of a text, and returns where the first unusual one begins
 */
function createSkimmer({ pattern, textGroup, joins, take }: FastPath) {
  const name = String.raw`(?:event: ?(?!error|upstream_error)[\w.]*\r?\n)?`
  const event = new RegExp(String.raw`${name}data: ?${pattern}(?:\n\n|\r\n\r\n)`, 'y')
  return (text: string): number => {
    let texts = ''
    let last: RegExpExecArray | undefined
    let at = 0
    event.lastIndex = 0
    for (let match = event.exec(text); match !== null; match = event.exec(text)) {
      at = event.lastIndex
      if (last !== undefined && !joins(match, last)) {
        take(texts, last)
        texts = ''
      }
      texts += match[textGroup]!
      last = match
    }
    if (last !== undefined) take(texts, last)
    return at
  }
}

const QUOTE = 34
const BACKSLASH = 92
const OPEN_ARRAY = 91
const CLOSE_ARRAY = 93
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125

/**
 * Yields each object of `{…}{…}`, of lines, and of one array `[{…},{…}]`, which the streaming endpoint sends without
 * `alt=sse`, as soon as its last character has arrived. Work is linear in the text, however it is cut.
 * @param onStray text between values that no JSON stream has
 */
export function createJsonValueSplitter(onValue: (text: string) => void, onStray: (text: string) => void) {
  let kept: GrowingText | undefined
  let depth = 0
  let inString = false
  let escaped = false

  const feed = (text: string): void => {
    let start = depth > 0 ? 0 : -1
    let strayFrom = depth > 0 ? -1 : 0
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (inString) {
        if (escaped) escaped = false
        else if (code === BACKSLASH) escaped = true
        else if (code === QUOTE) inString = false
      } else if (depth === 0) {
        if (code !== OPEN_OBJECT) continue
        reportStray(text.slice(strayFrom, at))
        depth = 1
        start = at
      } else if (code === QUOTE) inString = true
      else if (code === OPEN_OBJECT || code === OPEN_ARRAY) depth++
      else if ((code === CLOSE_OBJECT || code === CLOSE_ARRAY) && --depth === 0) {
        const rest = text.slice(start, at + 1)
        const whole = kept === undefined ? rest : kept.toString() + rest
        kept = undefined
        onValue(whole)
        start = -1
        strayFrom = at + 1
      }
    }
    if (depth > 0) {
      kept ??= createGrowingText()
      kept.add(text.slice(start))
    } else reportStray(text.slice(strayFrom))
  }

  const reportStray = (text: string) => {
    // The array's own brackets and commas belong to no value.
    const stray = text.replaceAll(/[[\],\s\u001e]/g, '')
    if (stray !== '') onStray(text.trim())
  }

  return {
    feed,
    get pendingLength() {
      return kept?.length ?? 0
    },
    pendingText: () => kept?.toString() ?? '',
  }
}

/** A cut JSON object or array, closed after the last value that came whole; it alone when more follows. */
export function closeJson(text: string): string {
  /** Of the objects and lists that are open, the innermost first. */
  let closers = ''
  let closed = ''
  let isKey = false
  const keep = (end: number) => (closed = text.slice(0, end) + closers)
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!
    switch (character) {
      case '"': {
        const end = closingQuote(text, at)
        if (end === text.length) return closed
        at = end
        if (!isKey) keep(end + 1)
        break
      }
      case '{':
      case '[':
        closers = (character === '{' ? '}' : ']') + closers
        isKey = character === '{'
        break
      case '}':
      case ']':
        closers = closers.slice(1)
        keep(at + 1)
        if (closers === '') return closed
        break
      case ',':
        // Only here is it certain that a number or a word has ended.
        keep(at)
        isKey = closers.startsWith('}')
        break
      case ':':
        isKey = false
    }
  }
  return closed
}

/** Candidates, output items and images of a reply are numbered below this. */
export const maxPositions = 1024

/** The position that a piece of the reply belongs to: bounded, whatever the gateway sends (fault E21). */
export function positionOf(value: unknown): number {
  if (value === undefined || value === null) return 0
  const position = typeof value === 'string' ? Number(value) : value
  if (typeof position === 'number' && Number.isInteger(position) && position >= 0 && position < maxPositions)
    return position
  const message = 'The reply numbers one of its parts with an impossible index.'
  throw new ContractError('reply_not_understood', message)
}
