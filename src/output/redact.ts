import { closingQuote, hiddenMark, hideJsonSpans, hideSpans } from './redact/spans.ts'
import { createMatcher } from './redact/matcher.ts'
import { createPieceStream, type PieceStream, createTextStream, type TextStream } from './redact/streams.ts'

type Redactor = (text: string) => string

/**
 * A function that removes the given secrets from a text, in every form in which they may be written:
 * as they are, inside a JSON string, percent-encoded, in hexadecimal, and in base64 (both alphabets, at any offset);
 * whole, their beginning, or any 20 characters. A short secret may be part of ordinary words: see `createWordRedactor`.
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

/** The same for JSON (one document, or one per line), which stays valid; a short secret is removed from string values only. */
export function createJsonRedactor(secrets: readonly string[]): Redactor {
  const { find } = createMatcher(jsonFormsOf(secrets))
  const redactForms = (json: string) => {
    const spans = find(json)
    return spans.length === 0 ? json : hideJsonSpans(json, spans)
  }
  const redactWords = createWordRedactor(secrets)
  return redactWords === undefined ? redactForms : (json) => redactStrings(redactForms(json), redactWords)
}

/** The same for text that comes in pieces; short secrets stay. */
export function createStreamRedactor(secrets: readonly string[]): TextStream {
  return createTextStream(createMatcher(secrets.flatMap(formsOf)))
}

/** The same for JSON that comes in pieces. */
export function createJsonStreamRedactor(secrets: readonly string[]): TextStream {
  return createTextStream(createMatcher(jsonFormsOf(secrets)), true)
}

/** The same for a sequence of JSON documents, also for a secret that is split between them. */
export function createPieceRedactor(secrets: readonly string[]): PieceStream {
  return createPieceStream(createMatcher(jsonFormsOf(secrets)), createJsonRedactor(secrets))
}

/** The forms that can occur within one JSON string. */
function jsonFormsOf(secrets: readonly string[]): string[] {
  return secrets.flatMap(formsOf).filter((form) => !/(?<!\\)(?:\\\\)*"/.test(form))
}

/** A shorter secret may well be part of a word, a path or a name; real keys are longer. */
const minLength = 8

/** The base64 and hex of a shorter secret are so short that they would match by chance. */
const minEncodedLength = 6

/**
 * The forms of a secret that are recognisable in any text: as it is, in JSON, in a URL, in hexadecimal, and in base64
 * (both alphabets, at any offset). None for a secret that is too short for that.
 */
function formsOf(secret: string): string[] {
  const plain = secret.toWellFormed()
  const encoded = plain.length < minEncodedLength ? [] : encodings(plain).flatMap(spellings)
  return [...new Set([...(plain.length < minLength ? [] : spellings(plain)), ...encoded])]
}

/** A text as it is, and as it is escaped in JSON and in URLs; usually these are all the same. */
function spellings(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1)
  return [
    ...new Set([
      text,
      json,
      // JSON inside JSON, as the arguments of a tool call.
      JSON.stringify(json).slice(1, -1),
      // PHP, Go and .NET escape more than JSON requires.
      json.replaceAll('/', String.raw`\/`),
      json.replaceAll(/[<>&]/g, unicodeEscape),
      JSON.stringify(text.replaceAll('"', '\0'))
        .slice(1, -1)
        .replaceAll(String.raw`\u0000`, String.raw`\u0022`)
        .replaceAll(/[<>&'+`]/g, unicodeEscape),
      encodeURIComponent(text),
      encodeURI(text),
      new URLSearchParams([['', text]]).toString().slice(1),
      // How URL parsers write a query, and a path.
      text.replaceAll(/["#<>']/g, encodeURIComponentStrictly),
      text.replaceAll(/["#<>?^`{}]/g, encodeURIComponentStrictly),
    ]),
  ]
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function encodeURIComponentStrictly(character: string): string {
  return `%${character.charCodeAt(0).toString(16)}`
}

function encodings(text: string): string[] {
  const bytes = Buffer.from(text)
  return [bytes.toString('hex'), ...[0, 1, 2].flatMap((offset) => base64Forms(bytes, offset))]
}

/** The base64 of bytes at an offset in a group, without the characters at the edges that also depend on other bytes. */
function base64Forms(content: Uint8Array, offset: number): string[] {
  const bytes = Buffer.concat([Buffer.alloc(offset), content])
  const start = Math.ceil((offset * 8) / 6)
  const end = Math.floor((bytes.length * 8) / 6)
  return [bytes.toString('base64').slice(start, end), bytes.toString('base64url').slice(start, end)]
}

/**
 * Removes short secrets from a text where they are words of their own: not within a word, a path or a file name,
 * nor within the name of a JSON property. Undefined when no secret is short.
 */
function createWordRedactor(secrets: readonly string[]): ((text: string) => string) | undefined {
  const short = secrets.filter((secret) => secret !== '' && secret.length < minLength)
  const forms = new Set(short.flatMap((secret) => spellings(secret.toWellFormed())))
  if (forms.size === 0) return undefined
  const letter = '[\\p{L}\\p{N}_]'
  const before = `(?<!${letter}|[/\\\\]|${letter}[.-])`
  const after = `(?![/\\\\.-]?${letter})`
  const notInName = '(?![^"\\\\\\n]{0,200}"\\s{0,9}:)'
  const words = [...forms].map(escapeForPattern).join('|')
  const pattern = new RegExp(`${before}(?:${words})${after}${notInName}`, 'gu')
  return (text) => text.replace(pattern, hiddenMark)
}

/** The same in the string values of JSON, which stays valid. */
function redactStrings(json: string, redactWords: (text: string) => string): string {
  let clean = ''
  let copied = 0
  for (let start = json.indexOf('"'); start !== -1;) {
    const end = closingQuote(json, start) + 1
    if (!/^\s*:/.test(json.slice(end, end + 20))) {
      clean += json.slice(copied, start) + redactString(json.slice(start, end), redactWords)
      copied = end
    }
    start = json.indexOf('"', end)
  }
  return clean + json.slice(copied)
}

/** The string as it was, unless it holds a secret. */
function redactString(string: string, redactWords: (text: string) => string): string {
  try {
    const value = JSON.parse(string) as string
    const clean = redactWords(value)
    return clean === value ? string : JSON.stringify(clean)
  } catch {
    // Not a JSON string.
    return redactWords(string)
  }
}

function escapeForPattern(text: string): string {
  return text.replace(
    /[\\^$.*+?()[\]{}|/-]/g,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  )
}
