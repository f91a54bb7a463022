import * as v from 'valibot'
import { families as builtIn, familyCalled } from '../contract/families.ts'
import type { Family } from '../contract/field.ts'
import type { ModelFamilies } from '../contract/known-models.ts'
import { isObject } from '../json.ts'
import { nearestName } from '../nearest-name.ts'

/** `families:` of a configuration: maps a model id to the name of a family, or to `none`. */
export const modelFamilies: v.GenericSchema<unknown, ModelFamilies> = v.pipe(
  v.custom<Record<string, unknown>>(isObject, 'must map model ids to families'),
  v.rawTransform(({ dataset: { value: mapping }, addIssue, NEVER }) => {
    // No prototype, so that a model called `constructor` does not get a family by accident.
    const found = Object.create(null) as Record<string, Family | null>
    let isRight = true
    for (const [id, value] of Object.entries(mapping)) {
      const family = value === 'none' ? null : typeof value === 'string' ? familyCalled(value) : undefined
      if (family !== undefined) found[id] = family
      else {
        isRight = false
        const path = [{ type: 'object', origin: 'value', input: mapping, key: id, value }] as const
        addIssue({ message: familyProblem(value), input: value, path: [...path] })
      }
    }
    return isRight ? found : NEVER
  }),
)

function familyProblem(value: unknown): string {
  if (typeof value !== 'string') return 'must be the name of a family, or none'
  const names = builtIn.map(({ id }) => id)
  const near = nearestName(value, [...names, 'none'])
  return near === undefined
    ? `must be none or one of the families ${names.join(', ')}`
    : `must be none or a family, such as ${near}`
}
