/** Passes text on in whole lines. */
export interface LineBuffer {
  push(text: string): void
  /** Characters held back because their line has not ended. */
  readonly length: number
}

/** Holds back an unfinished last line until the rest of it comes; linear however small the pieces are. */
export function createLineBuffer(onLines: (text: string) => void): LineBuffer {
  let held: string[] = []
  let length = 0
  return {
    push(text) {
      const end = endOfLastLine(text)
      if (end > 0) {
        const whole = end === text.length ? text : text.slice(0, end)
        onLines(held.length === 0 ? whole : held.join('') + whole)
        held = []
        length = 0
      }
      if (end < text.length) {
        held.push(end === 0 ? text : text.slice(end))
        length += text.length - end
      }
    },
    get length() {
      return length
    },
  }
}

/** Where the last unfinished line begins. Only what follows the last LF is searched for a CR: most streams have none. */
function endOfLastLine(text: string): number {
  const lineFeed = text.lastIndexOf('\n')
  const carriageReturn = text.indexOf('\r', lineFeed + 1) === -1 ? -1 : text.lastIndexOf('\r')
  return Math.max(lineFeed, carriageReturn) + 1
}
