import { scanJson } from './json-scanner.ts'

/** The first place where text stops being JSON. */
export interface JsonError {
  /** In UTF-16 units, from 0; the length of the text when it ends too early. */
  readonly offset: number
  /** Line and column count from 1, columns in characters. */
  readonly line: number
  readonly column: number
  /** What would have been right there: `"," or "}"`. */
  readonly expected: string
  /** A few characters around the place, in one line; never the content at large. */
  readonly excerpt: string
}

/**
 * Finds the first error of a text that `JSON.parse` refuses (RFC 8259); undefined when there is none.
 * Every text before the offset could still have become JSON. Neither deep nor long input is a problem.
 */
export function findJsonError(text: string): JsonError | undefined {
  const found = scanJson(text)
  if (found === undefined) return undefined
  const { offset, expected } = found
  const lineStart = text.lastIndexOf('\n', offset - 1) + 1
  return {
    offset,
    line: countLines(text, offset),
    column: countCharacters(text, lineStart, offset) + 1,
    expected,
    excerpt: excerptOf(text, offset, lineStart),
  }
}

function countLines(text: string, end: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < end; at = text.indexOf('\n', at + 1)) line++
  return line
}

function excerptOf(text: string, offset: number, lineStart: number): string {
  const lineEnd = text.indexOf('\n', offset)
  const end = Math.min(offset + 16, lineEnd === -1 ? text.length : lineEnd)
  return text
    .slice(Math.max(lineStart, offset - 12), end)
    .replaceAll(/[\0-\x1f\x7f]/g, ' ')
    .trim()
}

/** A character outside the basic plane takes two units; its second half is not counted. */
function countCharacters(text: string, start: number, end: number): number {
  let count = 0
  for (let at = start; at < end; at++) if ((text.charCodeAt(at) & 0xfc00) !== 0xdc00) count++
  return count
}
