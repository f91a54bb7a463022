/** Deeper values cannot be written out again without running out of stack, and no gateway reads them. */
const maxJsonDepth = 512

export type ParsedJson =
  | { readonly value: unknown; readonly problem?: never }
  | { readonly problem: string; readonly value?: never }

/**
 * Parses JSON; the problem is a clause that can follow a name: `is not valid JSON: line 2, column 5: expected ":" …`.
 * Keys such as `__proto__` become plain own keys; whoever copies the value must not use `Object.assign`.
 */
export function parseJson(text: string): ParsedJson {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const { line, column, reason, excerpt } = describeJsonError(text, error as SyntaxError)
    const near = excerpt === '' ? '' : ` near \`${excerpt}\``
    return { problem: `is not valid JSON: line ${line}, column ${column}: ${reason}${near}` }
  }
  return isDeeper(value, maxJsonDepth)
    ? { problem: `is nested more than ${maxJsonDepth} levels deep` }
    : { value }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((entry) => isDeeper(entry, levels - 1))
}

/** The first place where text stops being JSON. */
interface JsonError {
  /** In UTF-16 units, from 0; the length of the text when it ends too early. */
  readonly offset: number
  /** Line and column count from 1, columns in characters. */
  readonly line: number
  readonly column: number
  /** A clause without a word of the text: `expected "," or "}" after property value`. */
  readonly reason: string
  /** A few characters around the place, in one line; never the content at large. */
  readonly excerpt: string
}

/** @param error what `JSON.parse` threw for the text: V8 says in its message what is wrong, and mostly where */
export function describeJsonError(text: string, { message }: SyntaxError): JsonError {
  const isToken = isUnexpectedToken(message)
  const place = /^(.+?)(?: in JSON)? at position (\d+)/.exec(isToken ? '' : message)
  const offset = isToken ? findUnexpectedToken(text) : Number(place?.[2] ?? text.length)
  // Messages without a place are about the beginning of a value: a wrong character, or the end of the text.
  const reason = place?.[1] ?? 'expected a value'
  const lineStart = text.lastIndexOf('\n', offset - 1) + 1
  return {
    offset,
    line: countLines(text, offset),
    column: countCharacters(text, lineStart, offset) + 1,
    reason: reason.replace(/^./, (letter) => letter.toLowerCase()).replaceAll("'", '"'),
    excerpt: /^.*/
      .exec(text.slice(Math.max(lineStart, offset - 12), offset + 16))![0]
      .replaceAll(/[\0-\x1f\x7f]/g, ' ')
      .trim(),
  }
}

/** The only errors whose place is not in the message, which begins with the text itself for a word such as `undefined`. */
function isUnexpectedToken(message: string): boolean {
  return /^(?:Unexpected token |")/.test(message)
}

/** Searches for the end of the longest beginning that has no such error; it could still have become JSON. */
function findUnexpectedToken(text: string): number {
  let [good, bad] = [0, text.length]
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2)
    try {
      JSON.parse(text.slice(0, middle))
      good = middle
    } catch (error) {
      if (isUnexpectedToken((error as SyntaxError).message)) bad = middle
      else good = middle
    }
  }
  return good
}

function countLines(text: string, end: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < end; at = text.indexOf('\n', at + 1)) line++
  return line
}

/** A character outside the basic plane takes two units; its second half is not counted. */
function countCharacters(text: string, start: number, end: number): number {
  let count = 0
  for (let at = start; at < end; at++) if ((text.charCodeAt(at) & 0xfc00) !== 0xdc00) count++
  return count
}
