import type { FamilyId } from '../../contract/families.ts'
import type { Endpoint } from '../../contract/field.ts'

/** What is wrong with a model: it is of a family that the specification does not name for the endpoint. */
export function modelProblems(
  { families = {} }: Endpoint,
  model: string,
  family: FamilyId | undefined,
): string[] {
  if (family === undefined || families[family] !== undefined) return []
  const served = Object.keys(families).join(', ')
  return [`-m ${JSON.stringify(model)} is of ${family}; this command takes models of ${served}.`]
}
