import { leastLength, spellings } from './forms.ts'
import { hiddenMark } from './hide-spans.ts'

/**
 * Takes short secrets out of a text where they stand as words of their own: not within a word, a path or a file name,
 * nor within the name of a JSON property. Undefined when no secret is short.
 */
export function createWordRedactor(secrets: readonly string[]): ((text: string) => string) | undefined {
  const short = secrets.filter((secret) => secret !== '' && secret.length < leastLength)
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
export function redactStrings(json: string, redactWords: (text: string) => string): string {
  let clean = ''
  let copied = 0
  for (let start = json.indexOf('"'); start !== -1;) {
    const end = stringEnd(json, start)
    if (!/^\s*:/.test(json.slice(end, end + 20))) {
      clean += json.slice(copied, start) + redactString(json.slice(start, end), redactWords)
      copied = end
    }
    start = json.indexOf('"', end)
  }
  return clean + json.slice(copied)
}

/** Behind the quotation mark that ends a string, or the end of the text. */
function stringEnd(json: string, start: number): number {
  let at = start + 1
  while (at < json.length && json[at] !== '"') at += json[at] === '\\' ? 2 : 1
  return Math.min(at + 1, json.length)
}

/** The string as it was, unless it holds a secret. */
function redactString(string: string, redactWords: (text: string) => string): string {
  try {
    const value = JSON.parse(string) as string
    const clean = redactWords(value)
    return clean === value ? string : JSON.stringify(clean)
  } catch {
    // Between quotation marks that are not JSON's.
    return redactWords(string)
  }
}

function escapeForPattern(text: string): string {
  return text.replace(
    /[\\^$.*+?()[\]{}|/-]/g,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  )
}
