import type { Budget } from '../budget.ts'
import type { JsonObject } from '../json-value.ts'
import { isObject, listOf, numberOf } from '../json-value.ts'

/** References to references are followed this far; a circle of them ends here. */
const maxHops = 32

/** Of each part of a schema that is looked at. */
const costOfPart = 4

/** What a schema is flattened with. */
export interface Flattening {
  /** The document that references point into. */
  readonly root: unknown
  /** Prefer the alternative that nests least, so that a recursive schema comes to an end. */
  readonly terminal: boolean
  /** Paid for every part: a few references can unfold into billions. */
  readonly budget: Budget
}

/**
 * A schema with its `$ref`, `allOf`, `anyOf` and `oneOf` resolved into one object.
 * @throws RequestProblem when the budget is spent
 */
export function flatten(schema: JsonObject, how: Flattening, hops = 0): JsonObject {
  const { root, terminal, budget } = how
  if (hops > maxHops) return {}
  const { $ref: reference, allOf, anyOf, oneOf, ...own } = schema
  budget.spend(costOfPart + Object.keys(own).length + listOf(allOf).length)
  const parts: unknown[] = [own]
  if (typeof reference === 'string') {
    budget.spend(reference.length)
    parts.push(resolve(reference, root))
  }
  parts.push(...listOf(allOf))
  for (const alternatives of [anyOf, oneOf]) {
    if (!Array.isArray(alternatives)) continue
    budget.spend(alternatives.length)
    parts.push(choose(alternatives, terminal))
  }
  const whole = parts.filter(isObject)
  if (whole.length <= 1) return own
  const [first, ...rest] = whole.map((part) => (part === own ? own : flatten(part, how, hops + 1)))
  return rest.reduce<JsonObject>((left, right) => merge(left, right, budget), first!)
}

/** `#`, `#/$defs/name` and other JSON pointers into the same document. */
function resolve(reference: string, root: unknown): unknown {
  const segments = reference.replace(/^#\/?/, '').split('/').filter(Boolean)
  return segments.reduce<unknown>((at, segment) => {
    const name = decoded(segment).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined
    return (at as Record<string, unknown>)[name]
  }, root)
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
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
function merge(left: JsonObject, right: JsonObject, budget: Budget): JsonObject {
  const names = Object.keys({ ...left, ...right })
  budget.spend(names.length)
  return Object.fromEntries(
    names.map((name) => {
      const [one, other] = [left[name], right[name]]
      if (one === undefined) return [name, other]
      return [name, other === undefined ? one : mergeKeyword(name, one, other, budget)]
    }),
  )
}

function mergeKeyword(name: string, left: unknown, right: unknown, budget: Budget): unknown {
  if (name === 'required' || name === 'enum') {
    const [one, other] = [listOf(left), listOf(right)]
    budget.spend(one.length + other.length)
    if (name === 'required') return [...new Set([...one, ...other])]
    const allowed = new Set(other)
    return one.filter((value) => allowed.has(value))
  }
  if (name === 'properties' && isObject(left) && isObject(right)) {
    const names = Object.keys(left)
    budget.spend(names.length + Object.keys(right).length)
    const shared = names.filter((property) => Object.hasOwn(right, property))
    const both = shared.map((property) => [property, { allOf: [left[property], right[property]] }] as const)
    return { ...left, ...right, ...Object.fromEntries(both) }
  }
  const [least, most] = [numberOf(left), numberOf(right)]
  if (least === undefined || most === undefined) return right
  if (lowerBounds.has(name)) return Math.max(least, most)
  return upperBounds.has(name) ? Math.min(least, most) : right
}
