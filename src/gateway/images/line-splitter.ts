/** Cuts a stream of bytes into lines, without collecting them. */
export interface LineSplitter {
  /**
   * The next part of a line, from a place in the bytes: its bytes, whether its line ends with it, and where
   * the rest begins. Undefined when nothing is left.
   */
  next(bytes: Buffer, from: number): LinePart | undefined
}

interface LinePart {
  readonly content: Buffer
  readonly ended: boolean
  readonly next: number
}

const LINE_FEED = 10
const CARRIAGE_RETURN = 13

/** Lines end with LF, CR or CRLF, also when a chunk ends between the two. */
export function createLineSplitter(): LineSplitter {
  let afterReturn = false
  /** Where the next CR is, so that a chunk with many lines is not searched again for each. */
  let searched: { readonly bytes: Buffer; readonly at: number } | undefined

  const nextReturn = (bytes: Buffer, from: number): number => {
    if (searched?.bytes !== bytes || (searched.at !== -1 && searched.at < from)) {
      searched = { bytes, at: bytes.indexOf(CARRIAGE_RETURN, from) }
    }
    return searched.at
  }
  return {
    next(bytes, start) {
      const from = afterReturn && bytes[start] === LINE_FEED ? start + 1 : start
      if (start < bytes.length) afterReturn = false
      if (from >= bytes.length) return undefined
      const lineFeed = bytes.indexOf(LINE_FEED, from)
      const carriageReturn = nextReturn(bytes, from)
      const end =
        carriageReturn === -1 || (lineFeed !== -1 && lineFeed < carriageReturn) ? lineFeed : carriageReturn
      if (end === -1) return { content: bytes.subarray(from), ended: false, next: bytes.length }
      afterReturn = bytes[end] === CARRIAGE_RETURN
      return { content: bytes.subarray(from, end), ended: true, next: end + 1 }
    },
  }
}
