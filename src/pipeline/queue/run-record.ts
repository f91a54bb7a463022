import { amountFrom, amountText } from '../../cost/amount.ts'
import type { Lane } from '../manifest/manifest.ts'
import { createRunBudget, type RunBudget, type Spending } from '../schedule/run-budget.ts'

/** What all workers have to know of a run: one document, `run:ID`. Amounts of money are decimal numbers as text. */
export interface RunRecord {
  /** How many requests of each lane may be under way. */
  readonly lanes: Readonly<Record<Lane, number>>
  readonly creates: { readonly value: number; readonly name: string } | null
  readonly cost: { readonly value: string; readonly name: string; readonly currency: string } | null
  readonly used: { readonly creates: number; readonly cost: string }
  readonly inFlight: Readonly<Record<Lane, number>>
  /** How many requests may be sent again after failures, and have been. */
  readonly retries: { readonly used: number; readonly allowed: number }
  /** The gateway has failed for as long as there were retries: nothing more is sent. The last error's message. */
  readonly gaveUp: string | null
}

export type RunLimits = Pick<RunRecord, 'lanes' | 'creates' | 'cost'> & {
  /** How many requests it has: a fifth of them, and ten, may be sent again. */
  readonly jobs: number
}

/**
 * The record as a process of the run begins.
 * @param before what an earlier process, and the workers since, have left
 * @param used what the run had created before it was given to a queue, if there is no record yet
 */
export function openRecord(
  before: RunRecord | undefined,
  { jobs, ...limits }: RunLimits,
  used: RunRecord['used'],
): RunRecord {
  return {
    ...limits,
    used: before?.used ?? used,
    inFlight: before?.inFlight ?? { text: 0, image: 0, video: 0 },
    retries: { used: 0, allowed: Math.ceil(jobs / 5) + 10 },
    gaveUp: null,
  }
}

/** The record with something taken from its budget. @throws ModelgateError (exit 15) */
export function taken(record: RunRecord, instance: string, spending: Spending): RunRecord {
  const budget = budgetOf(record)
  budget.take(instance, spending)
  return withUsed(record, budget)
}

/** The record when nothing was created after all. */
export function givenBack(record: RunRecord, spending: Spending): RunRecord {
  const budget = budgetOf(record)
  budget.giveBack(spending)
  return withUsed(record, budget)
}

/** The record with so many more, or fewer, requests under way. */
export function moved(record: RunRecord, lane: Lane, by: 1 | -1): RunRecord {
  const { inFlight } = record
  return { ...record, inFlight: { ...inFlight, [lane]: Math.max(0, inFlight[lane] + by) } }
}

function budgetOf({ creates, cost, used }: RunRecord): RunBudget {
  return createRunBudget({
    creates,
    cost: cost === null ? null : { ...cost, value: amountFrom(cost.value) ?? 0n },
    used: { creates: used.creates, cost: amountFrom(used.cost) ?? 0n },
  })
}

function withUsed(record: RunRecord, { used }: RunBudget): RunRecord {
  return { ...record, used: { creates: used.creates, cost: amountText(used.cost) } }
}
