import { escapeAround, hiddenMark, stringsIn } from './spans.ts'
import { minPrefix, type Matcher } from './matcher.ts'

/** Removes secrets from a text that comes in pieces, also those that are split between pieces. */
export interface TextStream {
  /** What can be passed on now: all but an end that may be the beginning of a secret, at most 21 characters. */
  push(piece: string): string
  /** The rest. */
  end(): string
  /** The end of the text that is held back. */
  readonly kept: string
  /** Whether anything was removed by the last `push`. */
  readonly hasHidden: boolean
}

/** How far back an escape can begin, with backslashes before it. */
const context = 20

/** @param isJson the text is JSON, and stays valid */
export function createTextStream({ find, openTail }: Matcher, isJson = false): TextStream {
  /** What was passed on last, as far back as a secret that may go on began, and what is held back. */
  let text = ''
  let settled = 0
  let isInside = false
  let hasHidden = false

  const escapeAt = (at: number) => (isJson ? escapeAround(text, at) : undefined)
  /** @param open how much of the end may be the beginning of a secret */
  const advance = (limit: number, open = 0): string => {
    let out = ''
    hasHidden = false
    const spans = find(text)
    for (let at = 0; at < spans.length; at += 2) {
      const [start, end] = [spans[at]!, spans[at + 1]!]
      if (end <= settled) continue
      if (start >= limit) break
      const first = Math.max(settled, escapeAt(start)?.start ?? start)
      const escape = escapeAt(end)
      // The rest of the escape has not come yet.
      const last = escape === undefined ? end : escape.end <= text.length ? escape.end : escape.start
      if (first > settled) {
        out += text.slice(settled, first)
        isInside = false
      }
      if (!isInside) out += hiddenMark
      isInside = true
      hasHidden = true
      settled = Math.max(settled, last)
    }
    if (limit > settled) {
      out += text.slice(settled, limit)
      settled = limit
      isInside = false
    }
    const dropped = Math.max(0, Math.min(settled - context, text.length - open))
    text = text.slice(dropped)
    settled -= dropped
    return out
  }
  return {
    push(piece) {
      text += piece
      const open = openTail(text)
      // What is long enough to be a secret is hidden at once, and so is the rest of it.
      const limit = open < minPrefix ? text.length - open : text.length
      return advance(escapeAt(limit)?.start ?? limit, open)
    },
    end: () => advance(text.length),
    get kept() {
      return text.slice(settled)
    },
    get hasHidden() {
      return hasHidden
    },
  }
}

/** Removes secrets from a stream of JSON documents, also those split between strings of several documents. */
export interface PieceStream {
  /** The documents that can be passed on now, in order, each unchanged but for secrets. */
  push(json: string): string[]
  /** The rest. */
  end(): string[]
}

/** A document with more strings is not a piece of a text. */
const maxStrings = 200
/** At most so many texts are followed at once. */
const maxChannels = 200
/** At most so many documents wait for what follows. */
const maxWaiting = 64

/** A document as the text between its strings, and the strings. */
interface Piece {
  readonly literals: readonly string[]
  readonly strings: Slot[]
}

interface Slot {
  text: string
  /** The end of the string that is still held back. */
  kept: string
}

interface Channel {
  readonly stream: TextStream
  /** The strings whose ends are held back, oldest first. */
  slots: Slot[]
}

/**
 * @param matcher of forms that can occur within one JSON string
 * @param redact removes secrets from one document
 */
export function createPieceStream(matcher: Matcher, redact: (json: string) => string): PieceStream {
  const channels = new Map<string, Channel>()
  let waiting: Piece[] = []

  const channelOf = (name: string): Channel => {
    const known = channels.get(name)
    if (known !== undefined) return known
    for (const [oldest, { slots }] of channels) {
      if (channels.size < maxChannels) break
      if (slots.length === 0) channels.delete(oldest)
    }
    const channel = { stream: createTextStream(matcher, true), slots: [] }
    channels.set(name, channel)
    return channel
  }
  /** Adds a string to its text, and completes those before it. */
  const follow = (channel: Channel, slot: Slot): void => {
    const before = channel.slots
    const released = channel.stream.push(slot.kept)
    channel.slots = []
    if (channel.stream.hasHidden) {
      // The secret began in an earlier string: the rest of all of them goes into this one.
      for (const earlier of before) earlier.kept = ''
      slot.text = released
      slot.kept = channel.stream.kept
      if (slot.kept !== '') channel.slots = [slot]
      return
    }
    let kept = channel.stream.kept.length
    for (const open of [slot, ...before.toReversed()]) {
      const rest = Math.min(kept, open.kept.length)
      open.text += open.kept.slice(0, open.kept.length - rest)
      open.kept = rest === 0 ? '' : open.kept.slice(-rest)
      kept -= rest
      if (rest > 0) channel.slots.unshift(open)
    }
  }
  const release = (max: number): string[] => {
    let count = 0
    while (
      count < waiting.length &&
      (waiting.length - count > max || waiting[count]!.strings.every(({ kept }) => kept === ''))
    ) {
      count++
    }
    const ready = waiting.slice(0, count)
    waiting = waiting.slice(count)
    return ready.map((piece) => redact(textOf(piece)))
  }
  return {
    push(json) {
      const ranges = stringsIn(json)
      if (ranges.length > maxStrings) {
        waiting.push({ literals: [json], strings: [] })
        return release(maxWaiting)
      }
      const literals: string[] = []
      const strings: Slot[] = []
      let copied = 0
      for (const { start, end, channel } of ranges) {
        literals.push(json.slice(copied, start))
        copied = end
        const slot = { text: '', kept: json.slice(start, end) }
        strings.push(slot)
        follow(channelOf(channel), slot)
      }
      waiting.push({ literals: [...literals, json.slice(copied)], strings })
      return release(maxWaiting)
    },
    end: () => release(0),
  }
}

function textOf({ literals, strings }: Piece): string {
  return literals
    .map((literal, at) => literal + (strings[at]?.text ?? '') + (strings[at]?.kept ?? ''))
    .join('')
}
