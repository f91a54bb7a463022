import { tokensOf } from '../answer/answer.ts'
import { isObject, type JsonObject } from '../json-value.ts'

/**
 * A function call whose arguments come in pieces (wire notes, section 1, "Part kinds"): the name, then each value at its
 * JSON path, a string piece by piece, then an empty call.
 */
export function callPieces(
  call: { readonly id: string; readonly name: string },
  value: unknown,
): JsonObject[] {
  const pieces = piecesOf(value, '$').map((piece) => ({ partialArgs: [piece], willContinue: true }))
  return [{ ...call, willContinue: true }, ...pieces, {}]
}

function piecesOf(value: unknown, jsonPath: string): JsonObject[] {
  if (Array.isArray(value)) return value.flatMap((entry, index) => piecesOf(entry, `${jsonPath}[${index}]`))
  if (isObject(value)) {
    return Object.entries(value).flatMap(([name, inner]) => piecesOf(inner, `${jsonPath}${stepOf(name)}`))
  }
  if (typeof value === 'string') {
    const texts = value === '' ? [''] : tokensOf(value)
    return texts.map((stringValue, index) => ({
      jsonPath,
      stringValue,
      ...(index < texts.length - 1 && { willContinue: true }),
    }))
  }
  if (typeof value === 'number') return [{ jsonPath, numberValue: value }]
  return [typeof value === 'boolean' ? { jsonPath, boolValue: value } : { jsonPath, nullValue: 'NULL_VALUE' }]
}

function stepOf(name: string): string {
  return /^\w+$/.test(name) ? `.${name}` : `['${name}']`
}
