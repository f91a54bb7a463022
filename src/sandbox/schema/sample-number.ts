import type { JsonObject } from '../json-value.ts'
import { numberOf } from '../json-value.ts'
import type { Random } from '../seeded-random.ts'

/** A number within a schema's bounds and on its step. */
export function sampleNumber(schema: JsonObject, random: Random, whole: boolean): number {
  const step = numberOf(schema['multipleOf']) ?? (whole ? 1 : 0.01)
  const [least, most] = bounds(schema, step)
  const first = Math.ceil(rounded(least / step))
  const last = Math.floor(rounded(most / step))
  // Between two bounds with no step in between only a fraction fits.
  if (first > last) return (least + most) / 2
  return rounded((first + Math.floor(random() * (Math.min(last - first, 100) + 1))) * step)
}

function bounds(schema: JsonObject, step: number): readonly [number, number] {
  const least = edge(schema, 'minimum', 'exclusiveMinimum', step)
  const most = edge(schema, 'maximum', 'exclusiveMaximum', -step)
  if (least === undefined) return most === undefined ? [1, 100] : [Math.min(1, most - 100 * step), most]
  return [least, most ?? least + 100 * step]
}

/** An exclusive bound is a number of its own, or `true` beside the bound (draft 4 and OpenAPI 3.0). */
function edge(schema: JsonObject, inclusive: string, exclusive: string, step: number): number | undefined {
  const bound = numberOf(schema[inclusive])
  const open = numberOf(schema[exclusive])
  if (open !== undefined) return open + nudge(schema, step)
  return bound !== undefined && schema[exclusive] === true ? bound + nudge(schema, step) : bound
}

/** Half a narrow range instead of a whole step, so that an open bound does not pass the other one. */
function nudge(schema: JsonObject, step: number): number {
  const least = numberOf(schema['exclusiveMinimum']) ?? numberOf(schema['minimum'])
  const most = numberOf(schema['exclusiveMaximum']) ?? numberOf(schema['maximum'])
  const width = least === undefined || most === undefined ? Infinity : most - least
  const size =
    schema['multipleOf'] === undefined && !isWhole(schema)
      ? Math.min(Math.abs(step), width / 4)
      : Math.abs(step)
  return Math.sign(step) * size
}

function isWhole(schema: JsonObject): boolean {
  return [schema['type']].flat().some((type) => typeof type === 'string' && type.toLowerCase() === 'integer')
}

/** Without the last digits that binary fractions leave: 0.30000000000000004 is 0.3. */
function rounded(value: number): number {
  return Number(value.toPrecision(12))
}
