interface StreamPart {
  readonly text: string
  /** The whole event that this part completes; undefined for a part that does not. */
  readonly event: string | undefined
}

/** Splits the text of an event stream into its events, each with the blank line that ends it. */
export function createEventSplitter() {
  let pieces: string[] = []
  /** The end of the open event: the line ends after it may have begun there. */
  let tail = ''
  return {
    /** @returns the parts of events in this text, in order; the last one may be the beginning of an event */
    push(text: string): readonly StreamPart[] {
      const parts: StreamPart[] = []
      // Two line ends in a row; a lone CR at the end may be the first half of one.
      const end = /(?:\r\n|\n|\r(?!\n|$)){2}/g
      const all = tail + text
      let start = tail.length
      for (let match = end.exec(all); match !== null; match = end.exec(all)) {
        // Whether a CR at the end of the piece before was a whole line end has shown only now.
        const stop = match.index + match[0].length
        const own = all.slice(start, stop)
        parts.push({ text: own, event: pieces.join('') + own })
        pieces = []
        tail = ''
        start = Math.max(start, stop)
      }
      const rest = all.slice(start)
      if (rest !== '') {
        parts.push({ text: rest, event: undefined })
        pieces.push(rest)
        tail = (tail + rest).slice(-4)
      }
      return parts
    },
    get open() {
      return pieces.join('')
    },
  }
}
