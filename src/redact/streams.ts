import { escapeAround, hiddenMark, stringsIn } from './spans.ts'
import { minPrefix, type Matcher } from './matcher.ts'

/** How far back an escape can begin, with backslashes before it. */
const context = 20

/** Removes secrets from a text in pieces, also those that are split between them. */
export class TextStream {
  /** Whether the last `push` removed anything. */
  hasHidden = false
  readonly #matcher: Matcher
  readonly #isJson: boolean
  /** What was passed on last, as far back as a secret that may continue began, and what is held back. */
  #text = ''
  #settled = 0
  #isInside = false

  /** @param isJson the text stays valid JSON */
  constructor(matcher: Matcher, isJson = false) {
    this.#matcher = matcher
    this.#isJson = isJson
  }

  /** All but an end that may begin a secret, at most 21 characters. */
  push(piece: string): string {
    this.#text += piece
    const { length } = this.#text
    const open = this.#matcher.openTail(this.#text)
    // What is long enough to be a secret is hidden at once, and so is the rest of it.
    const limit = open < minPrefix ? length - open : length
    return this.#advance(this.#escapeAt(limit)?.start ?? limit, open)
  }

  end(): string {
    return this.#advance(this.#text.length)
  }

  get kept(): string {
    return this.#text.slice(this.#settled)
  }

  #escapeAt(at: number) {
    return this.#isJson ? escapeAround(this.#text, at) : undefined
  }

  /** @param open how much of the end may be the beginning of a secret */
  #advance(limit: number, open = 0): string {
    const text = this.#text
    let out = ''
    const passTo = (end: number) => {
      if (end <= this.#settled) return
      out += text.slice(this.#settled, end)
      this.#settled = end
      this.#isInside = false
    }
    this.hasHidden = false
    const spans = this.#matcher.find(text)
    for (let at = 0; at < spans.length; at += 2) {
      const [start, end] = [spans[at]!, spans[at + 1]!]
      if (end <= this.#settled) continue
      if (start >= limit) break
      passTo(this.#escapeAt(start)?.start ?? start)
      if (!this.#isInside) out += hiddenMark
      this.#isInside = true
      this.hasHidden = true
      const escape = this.#escapeAt(end) ?? { start: end, end }
      // The rest of the escape may not have arrived yet.
      this.#settled = Math.max(this.#settled, escape.end <= text.length ? escape.end : escape.start)
    }
    passTo(limit)
    const dropped = Math.max(0, Math.min(this.#settled - context, text.length - open))
    this.#text = text.slice(dropped)
    this.#settled -= dropped
    return out
  }
}

/** A document with more strings is not a piece of a text. */
const maxStrings = 200
/** How many texts are followed at once, at most. */
const maxChannels = 200
/** How many documents wait for what follows, at most. */
const maxWaiting = 64

interface Piece {
  readonly json: string
  readonly slots: readonly Slot[]
}

interface Slot {
  readonly start: number
  readonly end: number
  /** What is left of it. */
  text: string
  /** Its end, while that is held back. */
  kept: string
}

interface Channel {
  readonly stream: TextStream
  /** The strings whose ends are held back, oldest first. */
  waiting: Slot[]
}

/** Removes secrets from JSON documents, also those split between strings of several. */
export class PieceStream {
  readonly #matcher: Matcher
  readonly #redact: (json: string) => string
  readonly #channels = new Map<string, Channel>()
  readonly #pieces: Piece[] = []

  /**
   * @param matcher of forms that can occur within one JSON string
   * @param redact removes secrets from one document
   */
  constructor(matcher: Matcher, redact: (json: string) => string) {
    this.#matcher = matcher
    this.#redact = redact
  }

  /** The documents that can be passed on now, in order. */
  push(json: string): string[] {
    const found = stringsIn(json)
    const slots = (found.length > maxStrings ? [] : found).map(({ start, end, channel }) => {
      const slot = { start, end, text: '', kept: json.slice(start, end) }
      follow(this.#channelOf(channel), slot)
      return slot
    })
    this.#pieces.push({ json, slots })
    return this.#release(maxWaiting)
  }

  end(): string[] {
    return this.#release(0)
  }

  #channelOf(name: string): Channel {
    const known = this.#channels.get(name)
    if (known !== undefined) return known
    for (const [oldest, { waiting }] of this.#channels) {
      if (this.#channels.size < maxChannels) break
      if (waiting.length === 0) this.#channels.delete(oldest)
    }
    const channel = { stream: new TextStream(this.#matcher, true), waiting: [] }
    this.#channels.set(name, channel)
    return channel
  }

  #release(max: number): string[] {
    const { length } = this.#pieces
    const waits = ({ slots }: Piece, at: number) =>
      length - at <= max && slots.some(({ kept }) => kept !== '')
    const next = this.#pieces.findIndex(waits)
    return this.#pieces.splice(0, next === -1 ? length : next).map((piece) => this.#redact(textOf(piece)))
  }
}

/** Adds a string to its text, and completes those before it. */
function follow(channel: Channel, slot: Slot): void {
  const { stream, waiting } = channel
  const released = stream.push(slot.kept)
  if (stream.hasHidden) {
    // The secret began in an earlier string: the rest of all of them goes into this one.
    for (const earlier of waiting) earlier.kept = ''
    slot.text = released
    slot.kept = stream.kept
  } else {
    let kept = stream.kept.length
    for (const open of [slot, ...waiting.toReversed()]) {
      const done = Math.max(0, open.kept.length - kept)
      kept -= open.kept.length - done
      open.text += open.kept.slice(0, done)
      open.kept = open.kept.slice(done)
    }
  }
  channel.waiting = [...waiting, slot].filter(({ kept }) => kept !== '')
}

function textOf({ json, slots }: Piece): string {
  let copied = 0
  const parts = slots.map(({ start, end, text, kept }) => {
    const before = json.slice(copied, start)
    copied = end
    return before + text + kept
  })
  return parts.join('') + json.slice(copied)
}
