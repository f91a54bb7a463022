import { familyOf } from '../../contract/families.ts'
import type { Endpoint } from '../../contract/field.ts'
import { RequestProblem } from '../http/problem.ts'

/**
 * A model of a family that the specification does not name for the endpoint is turned down; a model of no known
 * family is served by the rules for every model.
 * @throws RequestProblem 400
 */
export function assertServed({ families = {} }: Endpoint, model: string): void {
  const family = familyOf(model)
  if (family === undefined || families[family] !== undefined) return
  throw new RequestProblem(
    400,
    `Invalid 'model': must be of ${Object.keys(families).join(', ')}, not ${model}.`,
    { param: 'model', code: 'invalid_value' },
  )
}
