import { escapeAround } from './escapes.ts'
import { hiddenMark } from './hide-spans.ts'
import { fragmentLength, type Matcher } from './matcher.ts'

/** Takes secrets out of a text that comes in pieces, also those that are split between pieces. */
export interface TextStream {
  /** What can be passed on now: all but an end that may be the beginning of a secret, which is at most 24 characters. */
  push(piece: string): string
  /** The rest. */
  end(): string
  /** What of the text is kept back. */
  readonly kept: string
  /** Whether anything of what was pushed last has been taken out. */
  readonly hasHidden: boolean
}

/** What a match can reach back to. */
const context = fragmentLength - 1

/** @param isJson the text is JSON, and stays valid */
export function createTextStream({ find, openTail }: Matcher, isJson = false): TextStream {
  /** What was passed on last, as far as a match can begin in it, and what is kept back. */
  let text = ''
  let settled = 0
  let isInside = false
  let hasHidden = false

  const escapeAt = (at: number) => (isJson ? escapeAround(text, at) : undefined)
  const advance = (limit: number): string => {
    let out = ''
    hasHidden = false
    const spans = find(text)
    for (let at = 0; at < spans.length; at += 2) {
      const [start, end] = [spans[at]!, spans[at + 1]!]
      if (end <= settled) continue
      if (start >= limit) break
      const first = Math.max(settled, escapeAt(start)?.start ?? start)
      const escape = escapeAt(end)
      // The rest of the escape is still to come: it is looked at again then.
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
    const dropped = Math.max(0, settled - context)
    text = text.slice(dropped)
    settled -= dropped
    return out
  }
  return {
    push(piece) {
      text += piece
      const limit = text.length - openTail(text)
      return advance(escapeAt(limit)?.start ?? limit)
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
