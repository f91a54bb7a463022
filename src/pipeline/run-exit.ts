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

/** The run as a whole is partly done then, since others may have succeeded. */
const ofOne: ReadonlySet<ExitName> = new Set(['rejected', 'contract', 'failed', 'schema'])

/** `later` and `notSent` only when nothing worse is left. @param ends how each instance would end the run alone */
export function exitOfRun(ends: Iterable<ExitName>): (typeof runExits)[number] {
  const found = new Set(Array.from(ends, (end) => (ofOne.has(end) ? 'partial' : end)))
  return precedence.find((name) => found.has(name)) ?? 'ok'
}
