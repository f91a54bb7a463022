import { hash } from 'node:crypto'
import { isObject, listOf } from '../json.ts'

export { isObject, objectOf, listOf, objectsOf, type JsonObject } from '../json.ts'

/** A value as text; empty for other types. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function textsOf(value: unknown): readonly string[] {
  return listOf(value).filter((entry) => typeof entry === 'string')
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

export function mapped<Value, Result>(
  object: Readonly<Record<string, Value>>,
  change: (value: Value, name: string) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value, name)]))
}

/** JSON of one spelling for equal values: without spaces, the names of every object sorted. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
  )
}

/** SHA-256 of the canonical JSON of a value, in hexadecimal. */
export function digestOf(value: unknown): string {
  return hash('sha256', canonicalJson(value))
}

/** The value of a body; undefined for what is not JSON. */
export function jsonIn(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return undefined
  }
}
