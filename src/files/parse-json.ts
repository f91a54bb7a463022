import { findJsonError, type JsonError } from './json-error.ts'

/** Deeper values cannot be written out again without running out of stack, and no gateway reads them. */
const maxJsonDepth = 512

export type ParsedJson =
  | { readonly value: unknown; readonly problem?: never }
  | { readonly problem: string; readonly error: JsonError | undefined; readonly value?: never }

/**
 * Parses JSON; the problem is a clause that can follow a name: `is not valid JSON: line 2, column 5: expected ":" …`.
 * Keys such as `__proto__` become plain own keys; whoever copies the value must not use `Object.assign`.
 */
export function parseJson(text: string): ParsedJson {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    const error = findJsonError(text)
    return { problem: `is not valid JSON${error === undefined ? '' : `: ${placeOf(error)}`}`, error }
  }
  return isDeeper(value, maxJsonDepth)
    ? { problem: `is nested more than ${maxJsonDepth} levels deep`, error: undefined }
    : { value }
}

function placeOf({ line, column, expected, excerpt }: JsonError): string {
  const near = excerpt === '' ? '' : ` near \`${excerpt}\``
  return `line ${line}, column ${column}: expected ${expected}${near}`
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((entry) => isDeeper(entry, levels - 1))
}
