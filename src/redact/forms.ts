import { minHiddenLength } from '../limits.ts'

/** Without its punctuation a shorter secret may be words, too. */
const minBareLength = 16

/** How a secret may be written: as it is, in JSON, in a URL, in hexadecimal, in base64, without its punctuation. */
export function formsOf(secret: string): string[] {
  const plain = secret.toWellFormed()
  if (plain.length < minHiddenLength) return []
  return [
    ...new Set([
      ...spellings(plain),
      ...escapedForms(plain),
      ...encodings(plain).flatMap(spellings),
      ...bareForms(plain),
    ]),
  ]
}

/** What some servers quote: every character escaped, or all but letters and digits; escaped for a URL twice. */
function escapedForms(text: string): string[] {
  const every = text.replaceAll(/[^]/g, unicodeEscape)
  return [
    every,
    every.replaceAll('\\', '\\\\'),
    text.replaceAll(/[^\dA-Za-z]/g, unicodeEscape),
    // An address within the query of another.
    encodeURIComponent(encodeURIComponent(text)),
  ]
}

/** What error codes, file names, host names and ids make of a secret: something else in place of its punctuation. */
function bareForms(text: string): string[] {
  const forms = [text, encodeURIComponent(text)].flatMap((spelling) =>
    ['_', '-', ''].map((mark) => spelling.replaceAll(/[^\dA-Za-z]+/g, mark)),
  )
  // Ids keep dashes and underscores.
  const ids = [text, encodeURIComponent(text)].map((spelling) => spelling.replaceAll(/[^\w-]/g, ''))
  return [...forms, ...ids].filter(({ length }) => length >= minBareLength)
}

/** As it is, and as it is escaped in JSON and in URLs; usually these are all the same. */
export function spellings(text: string): string[] {
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

/** At an offset in a group, without the characters at the edges that also depend on other bytes. */
function base64Forms(content: Uint8Array, offset: number): string[] {
  const bytes = Buffer.concat([Buffer.alloc(offset), content])
  const start = Math.ceil((offset * 8) / 6)
  const end = Math.floor((bytes.length * 8) / 6)
  return [bytes.toString('base64').slice(start, end), bytes.toString('base64url').slice(start, end)]
}
