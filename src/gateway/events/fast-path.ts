/** Messages of a usual form, which are read by their text: that is quicker than parsing them. */
export interface FastPath {
  /** The whole JSON of such a message, as the source of a regular expression without anchors. */
  readonly pattern: string
  /** @param match at 1 and after it the groups of the pattern */
  take(match: RegExpExecArray): void
}

/** Takes events from a place in the text on, and returns where the first one begins that is not of the usual form. */
type FastPathEvents = (text: string, from: number) => number

export function createEventFastPath({ pattern, take }: FastPath): FastPathEvents {
  const usualEvent = new RegExp(
    String.raw`(?:event: ?[\w.]*(?:\n|\r\n))?data: ?${pattern}(?:\n\n|\r\n\r\n)`,
    'y',
  )
  return (text, from) => {
    for (let at = from; ; at = usualEvent.lastIndex) {
      usualEvent.lastIndex = at
      const match = usualEvent.exec(text)
      if (match === null) return at
      take(match)
    }
  }
}

/** Where the first event of a text ends, and the next begins; the length of the text when it does not. */
export function endOfEvent(text: string): number {
  const end = /\n\n|\r\n\r\n/.exec(text)
  return end === null ? text.length : end.index + end[0].length
}

/** Whether a text ends between two events. */
export function endsEvent(text: string): boolean {
  return text.endsWith('\n\n') || text.endsWith('\r\n\r\n')
}

/**
 * Pieces of regular expressions for JSON of one expected shape. Matching such a text as a whole is quicker
 * than parsing it, and as strict: what is not JSON never passes.
 */

/** The inside of a string. Unrolled, so that no backtracking remembers each character. */
const characters = String.raw`[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[^"\\\u0000-\u001f]*)*`

export const jsonPattern = {
  characters,
  /** A string without escapes, a small whole number, an empty list, or null. */
  plainValue: String.raw`(?:"[^"\\\u0000-\u001f]*"|0|[1-9]\d{0,8}|\[\]|null)`,
} as const

/** The text that the inside of a JSON string stands for. */
export function unescapeJson(characters: string): string {
  return characters.includes('\\') ? (JSON.parse(`"${characters}"`) as string) : characters
}
