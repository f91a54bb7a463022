import type { Field, Fields } from '../../contract/field.ts'
import type { JsonObject } from '../json-value.ts'

/**
 * A form sends everything as text: the values of a request body, as the endpoint's table has their types.
 * What does not read as its type stays text, for the check to refuse.
 */
export function formValues(texts: ReadonlyMap<string, string>, fields: Fields): JsonObject {
  return Object.fromEntries(
    Array.from(texts, ([name, text]) => [
      name,
      Object.hasOwn(fields, name) ? valueOf(text, fields[name]!) : text,
    ]),
  )
}

function valueOf(text: string, { type }: Field): unknown {
  const isNumber = type === 'integer' || type === 'number'
  if (isNumber && /^-?\d+(\.\d+)?$/.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
