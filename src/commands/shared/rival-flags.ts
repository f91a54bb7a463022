import { UsageError } from '../../errors.ts'
import { attribute } from './contract-flags.ts'

/** Two flags, with their dashes, of which one would silently take the place of the other. */
export type RivalFlags = readonly [one: string, other: string]

/**
 * Refuses a call that gives both flags of a pair.
 * @param options of the command alone, as commander keeps them
 * @throws UsageError `conflicting_option` naming every such pair
 */
export function refuseRivals(options: Readonly<Record<string, unknown>>, pairs: readonly RivalFlags[]): void {
  const isGiven = (flag: string) => options[attribute(flag.slice(2))] !== undefined
  const problems = pairs
    .filter(([one, other]) => isGiven(one) && isGiven(other))
    .map(([one, other]) => `${one} and ${other} exclude each other: give only one of them.`)
  if (problems.length > 0) throw new UsageError(problems, { code: 'conflicting_option' })
}
