import { createGrowingText } from '../../files/growing-text.ts'

/** Passes text on in whole lines. */
export interface LineBuffer {
  push(text: string): void
  /** Characters held back because their line has not ended. */
  readonly length: number
  /** Whether the line that is held back is a comment. */
  readonly inComment: boolean
}

/** Holds back an unfinished last line until the rest of it comes; linear however small the pieces are. */
export function createLineBuffer(onLines: (text: string) => void): LineBuffer {
  let held = createGrowingText()
  let inComment = false
  return {
    push(text) {
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
    get length() {
      return held.length
    },
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
