/** Takes the usual messages of a long answer as text, which is faster than parsing them. */
export interface FastPath {
  /** The JSON of such a message, its fields in their usual order: the source of an expression without anchors. */
  readonly pattern: string
  /** The group that is the text: the content of a string, with its escapes. */
  readonly textGroup: number
  /** Whether its text may be taken together with that of the one before it, which is faster. */
  joins(message: RegExpExecArray, before: RegExpExecArray): boolean
  /** @param text of one or more messages, with its escapes */
  take(text: string, last: RegExpExecArray): void
}

/** Patterns of JSON values. The content of a string is unrolled, so that there is no backtracking per character. */
export const characters = String.raw`[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[^"\\\u0000-\u001f]*)*`
export const count = String.raw`(?:0|[1-9]\d{0,14})`
export const plainString = String.raw`"[^"\\\u0000-\u001f]*"`

/**
 * Takes usual events, of which none is named an error.
 * @returns takes events from the beginning of a text, and returns where the first unusual one begins
 */
export function createSkimmer({ pattern, textGroup, joins, take }: FastPath) {
  const name = String.raw`(?:event: ?(?!error|upstream_error)[\w.]*\r?\n)?`
  const event = new RegExp(String.raw`${name}data: ?${pattern}(?:\n\n|\r\n\r\n)`, 'y')
  return (text: string): number => {
    let texts = ''
    let last: RegExpExecArray | undefined
    let at = 0
    event.lastIndex = 0
    for (let match = event.exec(text); match !== null; match = event.exec(text)) {
      at = event.lastIndex
      if (last !== undefined && !joins(match, last)) {
        take(texts, last)
        texts = ''
      }
      texts += match[textGroup]!
      last = match
    }
    if (last !== undefined) take(texts, last)
    return at
  }
}
