/** What a plain text delta says. */
export interface TextDelta {
  readonly outputIndex: number
  readonly delta: string
}

/**
 * The usual form of a text delta: one flat object with plain values and no escapes. The whole text is matched,
 * so that what is not JSON never passes. What would make it an error, or another event, is left to the parser.
 */
const flatDelta =
  /^\{"type":"response\.output_text\.delta"(?:,"(?!type"|error")\w+":(?:"[^"\\\u0000-\u001f]*"|0|[1-9]\d{0,8}|\[\]|null))*\}$/

/**
 * Reads a text delta without parsing it as JSON: nearly all events of a long answer are of this one form,
 * and parsing them is what a stream spends most of its time on.
 * @returns undefined for anything else, which then has to be parsed
 */
export function skimTextDelta(text: string): TextDelta | undefined {
  if (!flatDelta.test(text)) return undefined
  // Inside a string the quotes would be escaped, so the names found are really names. Of a name given twice
  // the last counts, as in JSON.
  const start = text.lastIndexOf('"delta":')
  if (start === -1 || text[start + 8] !== '"') return undefined
  const from = start + 9
  const at = text.lastIndexOf('"output_index":')
  const outputIndex = at === -1 ? 0 : Number.parseInt(text.slice(at + 15, at + 24), 10)
  return Number.isNaN(outputIndex)
    ? undefined
    : { outputIndex, delta: text.slice(from, text.indexOf('"', from)) }
}
