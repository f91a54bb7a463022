import type { Amount, Money } from '../../cost/amount.ts'
import type { Prices } from '../../cost/prices.ts'
import type { ModelgateError } from '../../errors.ts'
import type { CostEstimate } from '../../events/text.ts'
import type { RunAction, RunMode } from '../../events/run-document.ts'
import type { Listener } from '../../operations/operation.ts'
import type { ExecuteCall } from '../execute/task.ts'
import type { OutputFacts } from '../lock/lock-block.ts'
import type { Assessment } from '../plan/project-state.ts'
import type { QueueServer } from '../queue/queue-server.ts'
import type { Shard } from '../shards/partition.ts'
import type { SharedStore } from '../store/blob-store.ts'
import type { ManifestCall } from './project.ts'

export interface RunCall extends ManifestCall {
  readonly listener: Pick<Listener, 'event' | 'flush'>
  readonly prices: Prices
  /** Whether the gateway honours `Idempotency-Key`: then a request of unknown outcome is simply sent again. */
  readonly idempotencyHonoured: boolean
  /** Where the requests are made by workers; undefined for a run that makes them itself. */
  readonly queue: QueueCall | undefined
  /** Opens the gateway; called once, and only where something is to be sent. @throws ModelgateError (exit 2, 3) */
  connect(): Promise<
    Omit<ExecuteCall, 'context' | 'project' | 'redactor' | 'jobs' | 'timeoutMs' | 'rescueFolder'>
  >
}

/** A queue, and the store that all of its machines share. */
export interface OpenQueue {
  readonly server: QueueServer
  readonly store: SharedStore
  close(): Promise<void>
}

export interface QueueCall {
  readonly worker: readonly string[]
  /** Called once, and only where something may be made. @throws UsageError; ModelgateError (exit 3, 5, 6); FileError */
  open(): Promise<OpenQueue>
}

export interface RunOptions {
  /** Names of jobs and instances, with wildcards; none for all. */
  readonly jobs: readonly string[]
  readonly mode: RunMode
  readonly regenerate: readonly string[]
  readonly force: boolean
  /** Whether an unfinished run is left as it is. */
  readonly newRun: boolean
  /** `--max-creates`, which goes before the budget of the manifest. */
  readonly maxCreates: number | undefined
  readonly maxCost: Amount | undefined
  readonly graceS: number
  readonly timeoutS: number | undefined
  /** Whether requests are left to the workers of the queue, and not waited for. */
  readonly detach: boolean
  readonly shard: Shard | null
  /** Whether somebody can be asked, or has agreed beforehand. */
  readonly isAttended: boolean
  /** Called before the first request, and again when the elements of fan-outs are known; with false nothing more is sent. */
  confirm(request: Confirmation): Promise<boolean>
}

export interface Confirmation {
  readonly creates: number
  /** How many of them are for elements that a text has, and the references to these texts. */
  readonly elements: number
  readonly sources: readonly string[]
  readonly estimate: CostEstimate | null
}

/** What has been spent on an instance in this process. */
export interface Expense {
  /** How many results were created, for certain or perhaps. */
  readonly created: number
  readonly cost: Money | null
  readonly took_s: number | null
}

export interface InstanceEnd extends Expense {
  readonly assessment: Assessment
  /** Null where there was nothing to do, or nothing was done. */
  readonly action: RunAction | null
  readonly outputs: readonly OutputFacts[]
  readonly error: ModelgateError | null
}
