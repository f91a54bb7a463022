import type { JsonObject } from '../json-value.ts'
import { isObject, listOf, numberOf } from '../json-value.ts'

/** References to references are followed this far; a circle of them ends here. */
const maxHops = 32

/**
 * A schema with its `$ref`, `allOf`, `anyOf` and `oneOf` resolved into one object.
 * @param terminal prefer the alternative that nests least, so that a recursive schema comes to an end
 */
export function flatten(schema: JsonObject, root: unknown, terminal: boolean, hops = 0): JsonObject {
  if (hops > maxHops) return {}
  const { $ref: reference, allOf, anyOf, oneOf, ...own } = schema
  const parts: unknown[] = [own]
  if (typeof reference === 'string') parts.push(resolve(reference, root))
  parts.push(...listOf(allOf))
  for (const alternatives of [anyOf, oneOf]) {
    if (Array.isArray(alternatives)) parts.push(choose(alternatives, terminal))
  }
  const whole = parts.filter(isObject)
  if (whole.length <= 1) return own
  const [first, ...rest] = whole.map((part) => (part === own ? own : flatten(part, root, terminal, hops + 1)))
  return rest.reduce<JsonObject>(merge, first!)
}

/** `#`, `#/$defs/name` and other JSON pointers into the same document. */
function resolve(reference: string, root: unknown): unknown {
  const segments = reference.replace(/^#\/?/, '').split('/').filter(Boolean)
  return segments.reduce<unknown>((at, segment) => {
    const name = decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~')
    const entries: Readonly<Record<string, unknown>> = Array.isArray(at) ? { ...at } : isObject(at) ? at : {}
    return Object.hasOwn(entries, name) ? entries[name] : undefined
  }, root)
}

function choose(alternatives: readonly unknown[], terminal: boolean): unknown {
  const real = alternatives.find((entry) => isObject(entry) && entry['type'] !== 'null')
  const flat = terminal ? alternatives.find((entry) => isObject(entry) && !nests(entry)) : undefined
  return flat ?? real ?? alternatives[0]
}

function nests(schema: JsonObject): boolean {
  return ['$ref', 'properties', 'items', 'anyOf', 'oneOf'].some((name) => Object.hasOwn(schema, name))
}

const lowerBounds = new Set(['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'])
const upperBounds = new Set(['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'])

/** Both schemas at once: properties and requirements joined, the tighter of two bounds kept. */
function merge(left: JsonObject, right: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.keys({ ...left, ...right }).map((name) => {
      const [one, other] = [left[name], right[name]]
      if (one === undefined) return [name, other]
      return [name, other === undefined ? one : mergeKeyword(name, one, other)]
    }),
  )
}

function mergeKeyword(name: string, left: unknown, right: unknown): unknown {
  if (name === 'required') return [...new Set([...listOf(left), ...listOf(right)])]
  if (name === 'enum') return listOf(left).filter((value) => listOf(right).includes(value))
  if (name === 'properties' && isObject(left) && isObject(right)) {
    const shared = Object.keys(left).filter((property) => Object.hasOwn(right, property))
    const both = shared.map((property) => [property, { allOf: [left[property], right[property]] }] as const)
    return { ...left, ...right, ...Object.fromEntries(both) }
  }
  const [least, most] = [numberOf(left), numberOf(right)]
  if (least === undefined || most === undefined) return right
  if (lowerBounds.has(name)) return Math.max(least, most)
  return upperBounds.has(name) ? Math.min(least, most) : right
}
