import { formsOf, createWordRedactor, redactStrings } from './redact/forms.ts'
import { hideJsonSpans, hideSpans } from './redact/spans.ts'
import { createMatcher } from './redact/matcher.ts'
import { createPieceStream, type PieceStream, createTextStream, type TextStream } from './redact/streams.ts'

type Redactor = (text: string) => string

/**
 * A function that takes the given secrets out of a text, in every form they may have been written in:
 * as they are, inside a JSON string, percent-encoded, in hexadecimal, and in base64 (both alphabets, at any offset);
 * whole, the beginning of them, or any 20 characters. A short secret is also part of many a word: see `createWordRedactor`.
 */
export function createRedactor(secrets: readonly string[]): Redactor {
  const { find } = createMatcher(secrets.flatMap(formsOf))
  const redactForms = (text: string) => {
    const spans = find(text)
    return spans.length === 0 ? text : hideSpans(text, spans)
  }
  const redactWords = createWordRedactor(secrets)
  return redactWords === undefined ? redactForms : (text) => redactWords(redactForms(text))
}

/** The same for JSON text (one document, or one a line), which stays valid: a short secret is sought in string values only. */
export function createJsonRedactor(secrets: readonly string[]): Redactor {
  const { find } = createMatcher(jsonFormsOf(secrets))
  const redactForms = (json: string) => {
    const spans = find(json)
    return spans.length === 0 ? json : hideJsonSpans(json, spans)
  }
  const redactWords = createWordRedactor(secrets)
  return redactWords === undefined ? redactForms : (json) => redactStrings(redactForms(json), redactWords)
}

/** The same for text that comes in pieces; a short secret is not sought. */
export function createStreamRedactor(secrets: readonly string[]): TextStream {
  return createTextStream(createMatcher(secrets.flatMap(formsOf)))
}

/** The same for JSON that comes in pieces. */
export function createJsonStreamRedactor(secrets: readonly string[]): TextStream {
  return createTextStream(createMatcher(jsonFormsOf(secrets)), true)
}

/** The same for JSON documents that come one after the other, also for what is split between them. */
export function createPieceRedactor(secrets: readonly string[]): PieceStream {
  return createPieceStream(createMatcher(jsonFormsOf(secrets)), createJsonRedactor(secrets))
}

/** The forms that can stand within one string of JSON. */
function jsonFormsOf(secrets: readonly string[]): string[] {
  return secrets.flatMap(formsOf).filter((form) => !/(?<!\\)(?:\\\\)*"/.test(form))
}
