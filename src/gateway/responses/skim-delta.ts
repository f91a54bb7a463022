import { jsonPattern, unescapeJson } from '../json-pattern.ts'

/** What a plain text delta says. */
export interface TextDelta {
  readonly outputIndex: number
  readonly delta: string
}

/** Fields that say nothing here. One that would make it an error or another event is left to the parser. */
const others = String.raw`(?:,"(?!type"|error"|delta"|output_index")\w+":${jsonPattern.plainValue})*`

/**
 * The usual form of a text delta: one flat object, its fields in the order of the wire (recorded).
 * The whole text is matched, so that what is not JSON never passes.
 */
const flatDelta = new RegExp(
  String.raw`^\{"type":"response\.output_text\.delta"${others},"delta":"(${jsonPattern.characters})"${others},"output_index":(0|[1-9]\d{0,2})${others}\}$`,
)

/**
 * Reads a text delta without parsing it as JSON: nearly all events of a long answer are of this one form.
 * @returns undefined for anything else, which then has to be parsed
 */
export function skimTextDelta(text: string): TextDelta | undefined {
  const match = flatDelta.exec(text)
  return match === null ? undefined : { delta: unescapeJson(match[1]!), outputIndex: Number(match[2]) }
}
