import type { Amount, Money } from '../../cost/amount.ts'
import type { Cost } from '../../cost/estimate.ts'
import type { Prices } from '../../cost/prices.ts'
import type { ModelgateError } from '../../errors.ts'
import type { CostEstimate } from '../../events/cost.ts'
import type { OutputEvent } from '../../events/documents.ts'
import type { RunAction, RunMode } from '../../events/run-document.ts'
import type { Listener } from '../../operations/operation.ts'
import type { ExecuteCall, Task } from '../execute/task.ts'
import type { RecordedResult } from '../journal/history.ts'
import type { Journal, JournalEvent } from '../journal/journal.ts'
import type { OutputFacts, Result } from '../lock/lock-block.ts'
import type { Instance } from '../manifest/manifest.ts'
import type { Plan } from '../plan/plan-run.ts'
import type { Assessment } from '../plan/project-state.ts'
import type { QueueServer } from '../queue/queue-server.ts'
import type { Lanes } from '../schedule/lanes.ts'
import type { RunBudget } from '../schedule/run-budget.ts'
import type { Shard } from '../shards/partition.ts'
import type { Stop } from '../stop.ts'
import type { SharedStore } from '../store/blob-store.ts'
import type { TaskResult } from '../store/results.ts'
import type { LockKeeper, ManifestCall, OpenProject } from './project.ts'

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

/** A run under way: what all of its instances share. */
export interface Run {
  readonly call: RunCall
  readonly options: RunOptions
  /** With the elements of fan-outs, as soon as their texts are made; then the plan and the next two are made anew. */
  project: OpenProject
  plan: Plan
  assessments: Map<string, Assessment>
  readonly lock: LockKeeper
  readonly journal: Journal
  /** Whether it goes on with what an earlier process has begun. */
  readonly isResumed: boolean
  readonly executor: Executor
  /** Places for requests, and what is sent again. */
  readonly lanes: Lanes
  readonly budget: RunBudget
  readonly maxCreates: number | null
  /** Whether anything has been written to its journal, now or before. */
  hasBegun(): boolean
  readonly stop: Stop
  /** What is being made, and what has been, by key: identical requests are sent once. */
  readonly variants: Map<string, Promise<MadeVariant>>
  /** How urgent each instance is: seconds of the longest path that begins with it. */
  priorities: ReadonlyMap<string, number>
  /** What one request of an instance costs, by estimate; null without prices. */
  costs(instance: Assessment['instance']): Cost | null
  readonly warnings: readonly string[]
  /** Why the run as a whole has been ended before it was done, if so: a signal, or its budget. */
  reason(): ModelgateError | undefined
  /** Plans the chosen instances of a project, or those of the shard. @throws FileError; the reason of the call's signal */
  planOf(project: OpenProject): Promise<Plan>
  /** The budget is reached: what is under way goes on, and nothing more is begun. */
  endBudget(error: ModelgateError): void
  emit(event: OutputEvent): void
  warn(message: string): void
  /** Writes an event to the journal; it is on disk, and in the history, when this resolves. @throws FileError */
  record(event: JournalEvent): Promise<void>
}

export interface Request extends Pick<Task, 'key' | 'variant'> {
  readonly instance: Instance
}

/** Where the attempts of a run are made: in this process, or by the workers of a queue. */
export interface Executor {
  /** The queue that the intents are given to; null for this process. */
  readonly queue: { readonly identity: string; readonly shown: string } | null
  readonly origin: string
  /** Called once, before the first attempt. @throws ModelgateError (exit 2, 3) */
  open(run: Run): Promise<void>
  /**
   * Makes one attempt, whose intent is in the journal; with a remote job, or results at addresses, it goes on with them.
   * @throws ModelgateError how it has ended, if not with a result
   */
  attempt(task: Task): Promise<TaskResult>
  /** Begins nothing more, and takes back what has not begun. @returns how many attempts have been given to it */
  stop(reason: unknown): number
  /** The journal has what came of the attempts under this key. */
  forget(idempotencyKey: string): void
  close(): Promise<void>
}

/** A result that lies in the folder of its key, as `StoredResult` has it. */
export type MadeResult = RecordedResult & { readonly result: Result }

export interface MadeVariant {
  readonly made: MadeResult | null
  readonly error: ModelgateError | null
  /** How many results were created in this process of the run, for certain or perhaps. */
  readonly created: number
  readonly cost: Money | null
  readonly took_s: number | null
}

export interface InstanceEnd {
  readonly assessment: Assessment
  /** Null where there was nothing to do, or nothing was done. */
  readonly action: RunAction | null
  readonly outputs: readonly OutputFacts[]
  readonly error: ModelgateError | null
  /** How many results it had created in this process. */
  readonly created: number
  readonly took_s: number | null
  readonly cost: Money | null
}
