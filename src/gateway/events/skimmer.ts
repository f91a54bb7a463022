/** Takes the usual messages of a long answer as text, which is faster than parsing them. */
export interface FastPath {
  /**
   * The whole JSON of such a message, with its fields in their usual order: the source of a regular expression without
   * anchors, which matches nothing but JSON.
   */
  readonly pattern: string
  /** The number of the group that is the text: the content of a string, with its escapes. */
  readonly textGroup: number
  /** Whether the text of a message may be taken together with that of the one before it, which is faster. */
  joins(message: RegExpExecArray, before: RegExpExecArray): boolean
  /**
   * Takes messages without their being parsed.
   * @param text the texts of one or more messages, with their escapes
   * @param last the last of them
   */
  take(text: string, last: RegExpExecArray): void
}

/** Patterns of JSON values. The content of a string is unrolled, so that there is no backtracking per character. */
export const characters = String.raw`[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[^"\\\u0000-\u001f]*)*`
export const count = String.raw`(?:0|[1-9]\d{0,14})`
export const plainString = String.raw`"[^"\\\u0000-\u001f]*"`

/**
 * Takes the usual events of a stream. An event that is named an error is never one of them.
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
