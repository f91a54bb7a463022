/** What a plain text delta says. */
export interface TextDelta {
  readonly outputIndex: number
  readonly delta: string
}

/**
 * The usual form of a text delta: one flat object with plain values and no escapes. The whole text is matched,
 * so that what is not JSON never passes.
 */
const flatDelta =
  /^\{"type":"response\.output_text\.delta"(?:,"\w+":(?:"[^"\\\u0000-\u001f]*"|\d{1,9}|\[\]|null))*\}$/

/**
 * Reads a text delta without parsing it as JSON: nearly all events of a long answer are of this one form,
 * and parsing them is what a stream spends most of its time on.
 * @returns undefined for anything else, which then has to be parsed
 */
export function skimTextDelta(text: string): TextDelta | undefined {
  if (!flatDelta.test(text)) return undefined
  // Inside a string the quotes would be escaped, so the names found are really names.
  const start = text.indexOf('"delta":"')
  if (start === -1) return undefined
  const from = start + 9
  const at = text.indexOf('"output_index":')
  return {
    outputIndex: at === -1 ? 0 : Number.parseInt(text.slice(at + 15, at + 24), 10),
    delta: text.slice(from, text.indexOf('"', from)),
  }
}
