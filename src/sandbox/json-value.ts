import { listOf } from '../json.ts'

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
