import type { JournalEvent } from '../journal/journal-event.ts'
import type { Result } from '../lock/lock-block.ts'

type EventOf<Type> = Extract<JournalEvent, { readonly type: Type }>

/** What a report takes of the journals, by keys where nothing else is said; in the order in which it happened. */
export interface PastRuns {
  readonly results: ReadonlyMap<string, Omit<EventOf<'result'>, 'type'>>
  /** Of requests whose last attempt failed. */
  readonly failures: ReadonlyMap<
    string,
    Pick<EventOf<'failure'>, 'exit_code' | 'code' | 'message' | 'billed'>
  >
  /** By instances. */
  readonly picks: ReadonlyMap<string, { readonly key: string }>
  /** What requests were estimated to cost. */
  readonly costs: ReadonlyMap<string, number>
}

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
