import { UsageError } from '../../errors.ts'
import { checkBody, type Violation } from '../../contract/check.ts'
import type { FamilyId } from '../../contract/families.ts'
import type { Endpoint } from '../../contract/field.ts'
import { nearestName } from '../../contract/nearest-name.ts'
import type { CommonOptions } from './common-options.ts'
import type { ContractFlag } from './contract-flags.ts'
import type { Body } from '../../operations/operation.ts'
import { isSet } from './request-body.ts'

/**
 * Holds the body against the contract.
 * @param isPartial whether some input could not be read: then nothing is said to be missing
 * @param family the model's family, whose own limits hold as well
 * @throws UsageError with all violations, each naming the flag to change
 */
export function validateBody(
  endpoint: Endpoint,
  body: Body,
  flags: readonly ContractFlag[],
  options: CommonOptions,
  isPartial: boolean,
  family?: FamilyId,
): void {
  if (!options.validate) return
  const violations = checkBody(endpoint, body, family).filter(({ kind, path }) => {
    // What was set by its path was meant, known or not.
    if (kind === 'unknown') return !isSet(options, path)
    return kind !== 'required' || !isPartial || path.includes('.')
  })
  if (violations.length === 0) return
  throw new UsageError(
    violations.map((violation) => sentence(violation, endpoint, flags)),
    { code: 'invalid_request', hint: isPartial ? skippingHint : sendingHint },
  )
}

const sendingHint = '--no-validate sends it anyway.'
/** Beside problems that nothing but mending them can help. */
const skippingHint = '--no-validate skips the checks against the documented limits.'

function sentence(
  { path, kind, problem, other }: Violation,
  endpoint: Endpoint,
  flags: readonly ContractFlag[],
): string {
  if (kind === 'unknown') {
    const known = nearestName(path, Object.keys(endpoint.fields))
    return `"${path}" ${problem}${known === undefined ? '.' : `; did you mean "${known}"?`}`
  }
  const flag = flagFor(path, flags)
  if (kind === 'exclusive')
    return `${flag} and ${flagFor(other ?? '', flags)} cannot be used together: ${problem}.`
  if (kind === 'requires') return `${flag} needs ${flagFor(other ?? '', flags)}: ${problem}.`
  return `${flag} ${problem}.`
}

/** The flag for a place in the body: its own, or the one of the object around it with the place named. */
function flagFor(path: string, flags: readonly ContractFlag[]): string {
  const steps = path.split('.')
  for (let length = steps.length; length > 0; length--) {
    const flag = flags.find((candidate) => candidate.path.join('.') === steps.slice(0, length).join('.'))
    if (flag === undefined) continue
    return length === steps.length ? `--${flag.name}` : `--${flag.name}: ${path}`
  }
  return path
}
