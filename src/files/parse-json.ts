import { isDeeperThan, maxJsonDepth } from '../json.ts'
import { findJsonError, type JsonError } from './json-error.ts'

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
  return isDeeperThan(value, maxJsonDepth)
    ? { problem: `is nested more than ${maxJsonDepth} levels deep`, error: undefined }
    : { value }
}

function placeOf({ line, column, expected, excerpt }: JsonError): string {
  const near = excerpt === '' ? '' : ` near \`${excerpt}\``
  return `line ${line}, column ${column}: expected ${expected}${near}`
}
