import type { Skimmer } from '../events/skimmer.ts'
import { jsonPattern, unescapeJson } from '../json-pattern.ts'

const { characters, plainValue } = jsonPattern
/** The fields that come along and say nothing here; with any other, the event is left to the parser. */
const others = String.raw`(?:, ?"(?:item_id|content_index|sequence_number|logprobs|obfuscation)": ?${plainValue})*`
const delta = String.raw`, ?"delta": ?"(${characters})"`
const index = String.raw`, ?"output_index": ?(0|[1-9]\d{0,2})`

/**
 * The usual forms of a text delta: one flat object, its fields in the order of the documentation or of the alphabet
 * (both recorded), with or without a space after colons and commas.
 * The whole text is matched, so that what is not JSON never passes.
 */
const textDelta =
  String.raw`\{"type": ?"response\.output_text\.delta"${others}` +
  String.raw`(?:${index}${others}${delta}|${delta}${others}${index})${others}\}`

/** Reads text deltas without parsing them as JSON: nearly all events of a long answer are of this one form. */
export function createDeltaSkimmer(take: (outputIndex: number, delta: string) => void): Skimmer {
  return {
    pattern: textDelta,
    take([, indexBefore, deltaAfter, deltaBefore, indexAfter]) {
      take(Number(indexBefore ?? indexAfter), unescapeJson(deltaAfter ?? deltaBefore!))
    },
  }
}
