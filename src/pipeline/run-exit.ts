import type { ExitName } from '../errors.ts'

const precedence = [
  'hangup',
  'interrupt',
  'terminate',
  'bug',
  'usage',
  'key',
  'io',
  'unknown',
  'limit',
  'partial',
  'running',
  'outdated',
  'later',
  'notSent',
] as const satisfies readonly ExitName[]

export const runExits = [...precedence, 'ok'] as const

/** Of a single request; the run as a whole is partly done then, since others may have succeeded. */
const ofOne: ReadonlySet<ExitName> = new Set(['rejected', 'contract', 'failed', 'schema'])

/**
 * How a run ends as a whole, from how its instances or its parts ended: `ok` when all are up to date, `later` and
 * `notSent` only when nothing worse is left. A signal and a spent budget are ends of their own.
 * @param ends of a failed instance the exit of its error; `partial` for a rejected result, `unknown` for an unknown outcome,
 * `outdated` for what stands still, and nothing or `ok` for what waits for another one or is done
 */
export function exitOfRun(ends: Iterable<ExitName>): (typeof runExits)[number] {
  const found = new Set(Array.from(ends, (end) => (ofOne.has(end) ? 'partial' : end)))
  return precedence.find((name) => found.has(name)) ?? 'ok'
}
