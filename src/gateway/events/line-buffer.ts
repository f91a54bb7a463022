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
      const end = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1
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
