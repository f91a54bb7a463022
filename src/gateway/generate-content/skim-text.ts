import type { Skimmer } from '../events/skimmer.ts'
import type { JsonObject } from '../json-access.ts'
import { jsonPattern, unescapeJson } from '../json-pattern.ts'

const { characters, plainValue } = jsonPattern
/** Counts, and lists of counts by modality. */
const usageValue = String.raw`(?:${plainValue}|\[\{"\w+": ?${plainValue}(?:, ?"\w+": ?${plainValue})*\}\])`
const usage = String.raw`\{"\w+": ?${usageValue}(?:, ?"\w+": ?${usageValue})*\}`

/** What comes with every chunk, all of it or nothing. */
const facts = String.raw`(?:, ?"usageMetadata": ?${usage}, ?"modelVersion": ?"[\w.:/-]*", ?"responseId": ?"[\w.:/-]*")?`

/**
 * The usual form of a chunk in the middle of an answer: one candidate with one text, and what comes with every chunk,
 * in the order of the wire (recorded), with or without a space after colons and commas.
 */
const textChunk =
  String.raw`\{"candidates": ?\[\{"content": ?\{(?:"role": ?"model", ?)?"parts": ?\[\{"text": ?"(${characters})"\}\](?:, ?"role": ?"model")?\}(?:, ?"index": ?0)?\}\]` +
  String.raw`(${facts})\}`

/**
 * Reads chunks of plain text without parsing them as JSON: nearly all chunks of a long answer are of this one form.
 * @param take receives the text, and the usage, model and id of the response as `readFacts` reads them
 */
export function createTextSkimmer(take: (text: string, facts: string) => void): Skimmer {
  return {
    pattern: textChunk,
    take: ([, text, found]) => take(unescapeJson(text!), found!),
  }
}

/** The facts of a chunk that was skimmed, under their names on the wire. */
export function readFacts(facts: string): JsonObject {
  return JSON.parse(`{${facts.replace(',', '')}}`) as JsonObject
}
