/** Deeper values would exhaust the stack when written again, and no gateway accepts them. */
const maxJsonDepth = 512

export type ParsedJson =
  | { readonly value: unknown; readonly problem?: never }
  | { readonly problem: string; readonly value?: never }

/**
 * Parses JSON; the problem is a clause that can follow a name: `is not valid JSON: line 2, column 5: expected ":" …`.
 * Keys such as `__proto__` become plain own keys, so never copy the value with `Object.assign`.
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

/** The position of the first syntax error. */
interface JsonError {
  /** In UTF-16 units, from 0; the length of the text when it ends too early. */
  readonly offset: number
  /** Line and column count from 1, columns in characters. */
  readonly line: number
  readonly column: number
  /** A clause that does not quote the text: `expected "," or "}" after property value`. */
  readonly reason: string
  /** A few characters around the position, on one line. */
  readonly excerpt: string
}

/**
 * Describes the error that `JSON.parse` threw.
 * @param error its message has the reason and usually the position
 */
export function describeJsonError(text: string, { message }: SyntaxError): JsonError {
  const isToken = isUnexpectedToken(message)
  const match = /^(.+?)(?: in JSON)? at position (\d+)/.exec(isToken ? '' : message)
  const offset = isToken ? findUnexpectedToken(text, message) : Number(match?.[2] ?? text.length)
  // Messages without a position are about an unexpected token or the end of the text.
  const reason = match?.[1] ?? 'expected a value'
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

/**
 * The end of the longest beginning that has no such error, and could still have become JSON. Parsing many beginnings of
 * a large text would take many seconds, so only the offsets are tried that have what the message quotes around them.
 */
function findUnexpectedToken(text: string, message: string): number {
  const offsets = quotedOffsets(text, message)
  let [first, last] = [0, offsets.length - 1]
  while (first < last) {
    const middle = Math.floor((first + last) / 2)
    if (hasUnexpectedToken(text.slice(0, offsets[middle]! + 1))) last = middle
    else first = middle + 1
  }
  return offsets[first] ?? text.length
}

function hasUnexpectedToken(text: string): boolean {
  try {
    JSON.parse(text)
    return false
  } catch (error) {
    return isUnexpectedToken((error as SyntaxError).message)
  }
}

/** V8 quotes so many characters before the token, and as many from it on; all of a text that is shorter. */
const quotedLength = 10

/** The offsets that the message may refer to, in ascending order. */
function quotedOffsets(text: string, message: string): number[] {
  const [, before, quote = text, after] =
    /^Unexpected token '[^]+?', (\.{3})?"([^]*)"(\.{3})? is not valid JSON$/.exec(message) ?? []
  if (before !== undefined && after !== undefined) {
    const offsets: number[] = []
    for (let at = text.indexOf(quote); at !== -1; at = text.indexOf(quote, at + 1))
      offsets.push(at + quotedLength)
    return offsets
  }
  if (before !== undefined) return [text.length - quote.length + quotedLength]
  if (after !== undefined) return [quote.length - quotedLength]
  return Array.from({ length: text.length }, (_, at) => at)
}

function countLines(text: string, end: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < end; at = text.indexOf('\n', at + 1)) line++
  return line
}

/** A surrogate pair is one character; do not count its second half. */
function countCharacters(text: string, start: number, end: number): number {
  let count = 0
  for (let at = start; at < end; at++) if ((text.charCodeAt(at) & 0xfc00) !== 0xdc00) count++
  return count
}
