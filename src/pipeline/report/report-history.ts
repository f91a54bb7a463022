import type { History } from '../journal/history.ts'
import type { Result } from '../lock/lock-block.ts'

/** What a report takes of the journals. */
export type PastRuns = Pick<History, 'results' | 'failures' | 'picks' | 'costs'>

/**
 * Results that were outputs at some time, by their instances, the newest first. Of an instance that has had candidates
 * that is only what was picked last.
 */
export function earlierOutputs({ results, picks }: PastRuns): ReadonlyMap<string, readonly Result[]> {
  const kept = [...results.values()].filter(({ rejected }) => rejected === null)
  const withCandidates = new Set(kept.filter(({ variant }) => variant > 1).map(({ instance }) => instance))
  const outputs = kept.filter(
    ({ instance, key }) => !withCandidates.has(instance) || picks.get(instance)?.key === key,
  )
  const byInstance = Map.groupBy(outputs.reverse(), ({ instance }) => instance)
  return new Map([...byInstance].map(([id, found]) => [id, found.map(({ result }) => result)]))
}
