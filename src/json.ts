/** Reading JSON of unknown shape: every field may be missing, null, or of another type. */

export type JsonObject = Readonly<Record<string, unknown>>

const none: JsonObject = Object.freeze({})
const emptyList: readonly unknown[] = Object.freeze([])

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : none
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : emptyList
}

export function objectsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

export function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** A non-negative whole number; null for anything else, so that documents match their schema. */
export function countOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null
}

export function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

/** Maximum nesting of values from outside: `JSON.stringify` fails at some thousands of levels. */
export const maxJsonDepth = 512

/** Whether arrays and objects are nested more than `maxDepth` levels deep. Without recursion, so that no depth is too much. */
export function isDeeperThan(value: unknown, maxDepth: number): boolean {
  let level = [value].filter(isContainer)
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > maxDepth) return true
    level = level.flatMap((container) => Object.values(container).filter(isContainer))
  }
  return false
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Names that can reach an object's prototype. No field of a gateway and no setting has such a name. */
export const dangerousNames: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** The quotation mark that ends the string at `start`; the end of the text where there is none. */
export function closingQuote(json: string, start: number): number {
  for (let at = json.indexOf('"', start + 1); at !== -1; at = json.indexOf('"', at + 1)) {
    let escapes = 0
    while (json[at - 1 - escapes] === '\\') escapes++
    if (escapes % 2 === 0) return at
  }
  return json.length
}

/** The value of a text; undefined for one that is not JSON. */
export function tryJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
