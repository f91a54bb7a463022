import { createParser } from 'eventsource-parser'
import { createGrowingText, type GrowingText } from '../../growing-text.ts'
import { isObject, tryJson } from '../../json.ts'
import { maxEventLines, truncated, malformed, plainFailure, tooLarge, tooManyLines } from '../reply-errors.ts'
import {
  parseMessage,
  createJsonValueSplitter,
  type MessageHandlers,
  type TextReader,
} from './json-reader.ts'
import { createSkimmer } from './skimmer.ts'

/** How many events one message may be split over (quirk 5 was seen with two). */
const maxPieces = 8

/** More characters of one event are taken from the parser, which keeps each line as an object of its own. */
const maxParserCharacters = 262_144

/** Reads an event stream whose events are JSON messages, with everything that relays do to it. */
export function createEventReader(handlers: MessageHandlers, limit: number): TextReader {
  /** JSON that came without `data:`, line by line. */
  let bare: ReturnType<typeof createJsonValueSplitter> | undefined
  /** The beginning of a message that did not parse by itself. */
  let pieces: string[] = []
  let done = false
  let overflow = false

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
      bare = createJsonValueSplitter(
        (text) => {
          bare = undefined
          handlers.onMessage(parseMessage(text, limit), text)
        },
        () => {},
      )
    }
    bare.feed(`${line}\n`)
    if (bare !== undefined && bare.pendingLength > limit) throw tooLarge(limit)
  }

  /** The data of a long event so far, and its name. */
  let long: { readonly data: GrowingText; name: string | undefined; lines: number } | undefined
  /** The data that `takeData` got from the parser. */
  let taken: { readonly data: string; readonly name: string | undefined } | undefined
  let isTaking = false
  /** Characters in the parser, since an event ended or its data was taken. */
  let inParser = 0
  /** How many of them are data. */
  let dataInParser = 0
  /** Whether the parser got a CR last: a line feed that follows belongs to it. */
  let afterReturn = false
  let skipsLineFeed = false

  const onEvent = (data: string, name: string | undefined) => {
    if (isTaking) return void (taken = { data, name })
    if (long === undefined) return onData(data, name)
    long.data.add(data)
    const whole = long.data.toString()
    const known = name ?? long.name
    long = undefined
    onData(whole, known)
  }

  /** Takes the data of an unfinished event out of the parser, by ending the event there with an empty line of data. */
  const takeData = (): string | undefined => {
    inParser = dataInParser = 0
    // The parser would take a line feed that follows for the second half of a CRLF.
    skipsLineFeed = afterReturn
    isTaking = true
    parser.feed('data:\n\n')
    isTaking = false
    const { data, name } = taken!
    if (data === '' && long === undefined) {
      // There was none; the name of the event must not be lost.
      if (name !== undefined) parser.feed(`event: ${name}\n`)
      return name
    }
    long ??= { data: createGrowingText(), name: undefined, lines: 0 }
    long.name = name ?? long.name
    long.data.add(data.slice(0, -1))
    for (let at = data.indexOf('\n'); at !== -1; at = data.indexOf('\n', at + 1)) long.lines++
    if (long.lines > maxEventLines) throw tooManyLines()
    if (long.data.length > limit) throw tooLarge(limit)
    // An empty line again, so that the parser puts a line feed before the next one.
    parser.feed('data:\n')
    return long.name
  }

  const feedLines = (text: string) => {
    parser.feed(skipsLineFeed && text.startsWith('\n') ? text.slice(1) : text)
    skipsLineFeed = false
    afterReturn = text.endsWith('\r')
    if (endsEvent(text)) return void (inParser = dataInParser = 0)
    inParser += text.length
    if (/(?:^|\n|\r)data:/.test(text)) dataInParser += text.length
    if (inParser >= maxParserCharacters && !overflow) takeData()
  }

  const parser = createParser({
    maxBufferSize: limit,
    onEvent: ({ data, event }) => onEvent(data, event),
    onError(error) {
      if (error.type === 'max-buffer-size-exceeded') overflow = true
      else if (error.type === 'unknown-field') onBareLine(error.line ?? '')
    },
  })

  // The parser drops an unknown line that is split over two feeds; JSON without `data:` consists of such lines.
  const lines = createLineBuffer(feedLines)

  const skim = handlers.fastPath && createSkimmer(handlers.fastPath)
  let betweenEvents = true

  const parse = (text: string) => {
    if (text === '') return
    lines.push(text)
    if (overflow || lines.length > limit) throw tooLarge(limit)
    betweenEvents = endsEvent(text)
  }
  /** Whether the next event is independent of everything before it. */
  const canSkim = () =>
    betweenEvents && pieces.length === 0 && bare === undefined && long === undefined && !done

  return {
    push(text) {
      if (skim === undefined) return parse(text)
      for (let at = 0; at < text.length;) {
        if (canSkim()) at = skim(text, at)
        const end = endOfEvent(text, at)
        parse(text.slice(at, end))
        at = end
      }
    },
    end() {
      const inLine = pieces.length === 0
      const isFieldCut = lines.length > 0 && 'data: '.startsWith(lines.toString())
      // A complete last event without its blank line still counts (quirk 7); an incomplete one means a cut.
      lines.push('\n\n')
      if (done) return
      if (isFieldCut || (bare !== undefined && bare.pendingLength > 0)) throw truncated()
      if (pieces.length > 0) throw inLine || isUnclosed(pieces.join('')) ? truncated() : malformed()
    },
    get done() {
      return done
    },
    get pending() {
      const inLine = lines.inComment ? 0 : lines.length
      return inLine + dataInParser + (long?.data.length ?? 0) + (bare?.pendingLength ?? 0)
    },
    isEventStream: true,
    unfinished() {
      const line = lines.toString()
      if (bare !== undefined) return { text: bare.pendingText() + line, name: undefined }
      const name = takeData()
      const before = long === undefined ? '' : `${long.data.toString()}\n`
      return { text: pieces.join('') + before + line.replace(/^data: ?/, ''), name }
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

/**
 * A comment that a relay passed on as data (quirk 4); an empty event is a ping.
 * In the middle of a message that was split over two events, a colon may be part of the message.
 */
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

/** Where the event at a position ends, and the next begins; the length of the text when it does not. */
function endOfEvent(text: string, from: number): number {
  const end = /\n\n|\r\n\r\n/g
  end.lastIndex = from
  return end.test(text) ? end.lastIndex : text.length
}

/** Whether a text ends between two events. */
function endsEvent(text: string): boolean {
  return text.endsWith('\n\n') || text.endsWith('\r\n\r\n')
}

/** Passes text on in whole lines, holding back an unfinished last one; linear however small the pieces are. */
export function createLineBuffer(onLines: (text: string) => void) {
  let held = createGrowingText()
  let inComment = false
  return {
    push(text: string) {
      const end = endOfLastLine(text)
      if (end > 0) {
        const whole = end === text.length ? text : text.slice(0, end)
        onLines(held.length === 0 ? whole : held.toString() + whole)
        if (held.length > 0) held = createGrowingText()
      }
      if (end < text.length) {
        if (held.length === 0) inComment = text[end] === ':'
        held.add(end === 0 ? text : text.slice(end))
      }
    },
    /** Characters that are held back. */
    get length() {
      return held.length
    },
    toString: () => held.toString(),
    /** Whether the line that is held back is a comment. */
    get inComment() {
      return inComment && held.length > 0
    },
  }
}

/** Where the last unfinished line begins. Only what follows the last LF is searched for a CR: most streams have none. */
function endOfLastLine(text: string): number {
  const lineFeed = text.lastIndexOf('\n')
  const carriageReturn = text.indexOf('\r', lineFeed + 1) === -1 ? -1 : text.lastIndexOf('\r')
  return Math.max(lineFeed, carriageReturn) + 1
}

/** Whether an event of this type reports a failure (wire notes, section 2, and quirk 17). */
export function isErrorEvent(type: unknown): boolean {
  return type === 'error' || type === 'upstream_error'
}
