import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { checkBody, type Violation } from '../../contract/check.ts'
import type { Endpoint } from '../../contract/field.ts'
import { nearestName } from '../../config/nearest-name.ts'
import type { CommonOptions } from './common-options.ts'
import type { ContractFlag } from './contract-flags.ts'
import { parseJsonFlag } from './json-value.ts'
import { parseSet, setPath } from './set-path.ts'

export type Body = Record<string, unknown>

/** The body that `--body` gives to start from; an empty one without it. */
export async function startBody(context: Context, options: CommonOptions): Promise<Body> {
  if (options.body === undefined) return {}
  const value = await parseJsonFlag(context, '--body', options.body)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new UsageError('--body must be a JSON object.')
  }
  return value as Body
}

/** Sets a place in the body, creating what lies on the way. @throws UsageError for a name that cannot be one */
export function setField(body: Body, path: readonly string[], value: unknown): void {
  const name = path[0]!
  body[name] = setPath(body, path, value)[name]
}

/** Applies `--set`, which comes last and reaches anything. */
export function applySets(options: CommonOptions, body: Body): void {
  for (const text of options.set ?? []) {
    const { path, value } = parseSet(text)
    setField(body, path, value)
  }
}

/**
 * Holds the body against the contract.
 * @throws UsageError with all violations, each naming the flag to change
 */
export function validateBody(
  endpoint: Endpoint,
  body: Body,
  flags: readonly ContractFlag[],
  options: CommonOptions,
): void {
  if (!options.validate) return
  // What was set by its path was meant, known or not.
  const meant = new Set((options.set ?? []).map((text) => parseSet(text).path[0]))
  const violations = checkBody(endpoint, body).filter(
    ({ kind, path }) => kind !== 'unknown' || !meant.has(path),
  )
  if (violations.length === 0) return
  throw new UsageError(
    violations.map((violation) => sentence(violation, endpoint, flags)),
    { code: 'invalid_request', hint: '--no-validate sends it anyway.' },
  )
}

function sentence(
  { path, kind, problem, other }: Violation,
  endpoint: Endpoint,
  flags: readonly ContractFlag[],
): string {
  if (kind === 'unknown') {
    const known = nearestName(path, Object.keys(endpoint.fields))
    return `"${path}" ${problem}${known === undefined ? '.' : `; did you mean "${known}"?`}`
  }
  if (kind === 'exclusive')
    return `${flagFor(path, flags)} and ${flagFor(other ?? '', flags)} exclude each other: ${problem}.`
  if (kind === 'requires') return `${flagFor(path, flags)} needs ${flagFor(other ?? '', flags)}: ${problem}.`
  return `${flagFor(path, flags)} ${problem}.`
}

/** The flag for a place in the body: its own, or the one of the object around it with the place named. */
export function flagFor(path: string, flags: readonly ContractFlag[]): string {
  const steps = path.split('.')
  for (let length = steps.length; length > 0; length--) {
    const flag = flags.find((candidate) => candidate.path.join('.') === steps.slice(0, length).join('.'))
    if (flag === undefined) continue
    return length === steps.length ? `--${flag.name}` : `--${flag.name}: ${path}`
  }
  return path
}
