import { minHiddenLength } from '../limits.ts'

/** A message may be cut inside a secret: docs/environment.md promises to hide beginnings of this length. */
export const minPrefix = 16

/** A shorter end of a text is not waited for, unless the form is short: nearly every text ends with one. */
const minTail = 4

export interface Matcher {
  /** ASCII letters match in either case. @returns alternating starts and ends, ascending, without overlap */
  find(text: string): readonly number[]
  /** How many characters at the end may begin a form: 4 or more of a long one. */
  openTail(text: string): number
}

/** @param forms none of them empty */
export function createMatcher(forms: readonly string[]): Matcher {
  if (forms.length === 0) return { find: () => [], openTail: () => 0 }
  const prefixes = [...new Set(forms.map((form) => form.slice(0, minPrefix)))]
  const escaped = prefixes.map((prefix) => prefix.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`))
  const pattern = new RegExp(escaped.join('|'), 'gi')
  const byFirst = Map.groupBy(forms, (form) => fold(form.charCodeAt(0)))
  const formsAt = (text: string, at: number) => byFirst.get(fold(text.charCodeAt(at))) ?? []
  const maxLength = Math.max(...forms.map(({ length }) => length))

  return {
    find(text) {
      const spans: number[] = []
      pattern.lastIndex = 0
      for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
        const start = match.index
        const lengths = formsAt(text, start).map((form) => commonLength(form, text, start))
        const end = start + Math.max(match[0].length, ...lengths)
        const lastEnd = spans.at(-1) ?? -1
        if (start > lastEnd) spans.push(start, end)
        else spans[spans.length - 1] = Math.max(lastEnd, end)
        pattern.lastIndex = start + 1
      }
      return spans
    },
    openTail(text) {
      for (let start = Math.max(0, text.length - maxLength + 1); start < text.length; start++) {
        const rest = text.length - start
        const isOpen = (form: string) =>
          form.length > rest &&
          (rest >= minTail || form.length < minPrefix + minTail) &&
          commonLength(form, text, start) === rest
        if (formsAt(text, start).some(isOpen)) return rest
      }
      return 0
    },
  }
}

function fold(code: number): number {
  return code >= 65 && code <= 90 ? code | 32 : code
}

function commonLength(form: string, text: string, start: number): number {
  const limit = Math.min(form.length, text.length - start)
  let length = 0
  while (length < limit && fold(form.charCodeAt(length)) === fold(text.charCodeAt(start + length))) length++
  return length
}

/** Without its punctuation a shorter secret may be words, too. */
const minBareLength = 16

/** How a secret may be written: as it is, in JSON, in a URL, in hexadecimal, in base64, without its punctuation. */
export function formsOf(secret: string): string[] {
  const plain = secret.toWellFormed()
  if (plain.length < minHiddenLength) return []
  const written = [plain, ...encodings(plain)].flatMap(spellings)
  return [...new Set([...written, ...escapedForms(plain), ...bareForms(plain)])]
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
