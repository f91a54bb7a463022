import type { Skimmer } from '../events/skimmer.ts'
import { jsonPattern, unescapeJson } from '../json-pattern.ts'

/** What a chunk of plain text says. */
export interface TextChunk {
  readonly text: string
  /** `usageMetadata` as JSON, still to be parsed; undefined when there is none. */
  readonly usage: string | undefined
  readonly model: string | undefined
  readonly responseId: string | undefined
}

const { characters, plainValue } = jsonPattern
/** Counts, and lists of counts by modality. */
const usageValue = String.raw`(?:${plainValue}|\[\{"\w+": ?${plainValue}(?:, ?"\w+": ?${plainValue})*\}\])`
const usage = String.raw`\{"\w+": ?${usageValue}(?:, ?"\w+": ?${usageValue})*\}`

/**
 * The usual form of a chunk in the middle of an answer: one candidate with one text, and what comes with every chunk,
 * in the order of the wire (recorded), with or without a space after colons and commas.
 */
const textChunk =
  String.raw`\{"candidates": ?\[\{"content": ?\{(?:"role": ?"model", ?)?"parts": ?\[\{"text": ?"(${characters})"\}\](?:, ?"role": ?"model")?\}(?:, ?"index": ?0)?\}\]` +
  String.raw`(?:, ?"usageMetadata": ?(${usage}))?(?:, ?"modelVersion": ?"([\w.:/-]*)")?(?:, ?"responseId": ?"([\w.:/-]*)")?\}`

/** Reads chunks of plain text without parsing them as JSON: nearly all chunks of a long answer are of this one form. */
export function createTextSkimmer(take: (chunk: TextChunk) => void): Skimmer {
  return {
    pattern: textChunk,
    take([, text, usage, model, responseId]) {
      take({ text: unescapeJson(text!), usage, model, responseId })
    },
  }
}
