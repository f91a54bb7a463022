import { relative } from 'node:path'
import { amountOf, type Amount, type Money } from '../../cost/amount.ts'
import { costBefore, type Cost } from '../../cost/estimate.ts'
import { ModelgateError } from '../../errors.ts'
import type { OutputEvent } from '../../events/documents.ts'
import type { RunAction, RunDocument, RunMode } from '../../events/run-document.ts'
import type { CostEstimate } from '../../events/text.ts'
import { describeCost } from '../../operations/document-cost.ts'
import type { Listener } from '../../operations/operation.ts'
import type { ExecuteCall, Task } from '../execute/task.ts'
import type { Journal, JournalEvent } from '../journal/journal.ts'
import type { OutputFacts, Result } from '../lock/lock-block.ts'
import type { Instance } from '../manifest/manifest.ts'
import { creationOf } from '../manifest/request-body.ts'
import { keysByLock } from '../plan/instance-key.ts'
import { planRun, selectInstances, type Plan } from '../plan/plan-run.ts'
import { requestsLeft, type Assessment } from '../plan/project-state.ts'
import type { QueueServer } from '../queue/queue-server.ts'
import { estimateSeconds, Lanes, longestPaths } from '../schedule/lanes.ts'
import { lowest, RunBudget, type Spending } from '../schedule/run-budget.ts'
import { partition, type Shard } from '../shards/partition.ts'
import { stopWithGrace, type Stop } from '../stop.ts'
import type { SharedStore } from '../store/blob-store.ts'
import type { TaskResult } from '../store/results.ts'
import { keepLock, type LockKeeper, type ManifestCall, type OpenProject } from './project.ts'

export interface RunCall extends ManifestCall {
  readonly listener: Pick<Listener, 'event' | 'flush'>
  /** Whether the gateway honours `Idempotency-Key`: then a request of unknown outcome is simply sent again. */
  readonly idempotencyHonoured: boolean
  readonly queue: QueueCall | undefined
  /** Called once, and only where something is to be sent. @throws ModelgateError (exit 2, 3) */
  connect(): Promise<Pick<ExecuteCall, 'gateway' | 'newSpending'>>
}

export interface OpenQueue {
  readonly server: QueueServer
  readonly store: SharedStore
}

export interface QueueCall {
  readonly worker: readonly string[]
  /** Called once, and only where something may be made. @throws UsageError; ModelgateError (exit 3, 5, 6); FileError */
  open(): Promise<OpenQueue>
}

export interface RunOptions {
  readonly jobs: readonly string[]
  readonly mode: RunMode
  readonly regenerate?: readonly string[] | undefined
  readonly force?: boolean | undefined
  readonly newRun?: boolean | undefined
  /** Goes before the budget of the manifest. */
  readonly maxCreates?: number | undefined
  readonly maxCost?: Amount | undefined
  readonly graceS: number
  readonly timeoutS?: number | undefined
  readonly detach?: boolean | undefined
  readonly shard: Shard | null
  /** Somebody can be asked, or has agreed beforehand. */
  readonly isAttended: boolean
  /** Called before the first request, and again for the elements of fan-outs; with false nothing more is sent. */
  confirm(request: Confirmation): Promise<boolean>
}

export interface Confirmation {
  readonly creates: number
  /** For elements that a text has; `sources` are the references to these texts. */
  readonly elements: number
  readonly sources: readonly string[]
  readonly estimate: CostEstimate | null
}

/** What has become of an instance in this process. */
export interface InstanceEnd {
  readonly assessment: Assessment
  /** Null where nothing was done. */
  readonly action: RunAction | null
  readonly outputs: readonly OutputFacts[]
  readonly error: ModelgateError | null
  /** For certain or perhaps. */
  readonly created: number
  readonly cost: Money | null
  readonly took_s: number | null
}

/** What has become of one of its candidates. */
export interface MadeVariant extends Pick<InstanceEnd, 'error' | 'created' | 'cost'> {
  readonly result: Result | null
  readonly isRejected: boolean
}

/** Where the attempts of a run are made: in this process, or by the workers of a queue. */
export interface Executor {
  readonly origin: string
  /** Makes one attempt, whose intent is in the journal. @throws ModelgateError how it has ended, if not with a result */
  attempt(task: Task): Promise<TaskResult>
  /** Begins nothing more, and takes back what has not begun. */
  stop?(reason: unknown): void
  /** The journal has what came of the attempts under this key. */
  forget?(idempotencyKey: string): void
  close?(): Promise<void>
}

export type RunFacts = Pick<
  RunDocument,
  'mode' | 'run' | 'shard' | 'part' | 'creates' | 'estimate' | 'orphans' | 'warnings'
>

/** While requests are only handed over to workers, each has its place for a moment. */
const handedOver = 64

export class Run {
  readonly call: RunCall
  readonly options: RunOptions
  /** Without it this process makes the requests. */
  readonly queue: OpenQueue | undefined
  readonly journal: Journal
  readonly lock: LockKeeper
  readonly budget: RunBudget
  /** Whether it may write anything, or only reports how things stand. */
  readonly isChanging: boolean
  /** By key: identical requests are sent once. */
  readonly variants = new Map<string, Promise<MadeVariant>>()
  readonly ends = new Map<string, InstanceEnd>()
  readonly warnings: string[] = []
  /** With the elements of fan-outs, as soon as their texts are made; then the plan and the next two are made anew. */
  project: OpenProject
  plan!: Plan
  assessments!: Map<string, Assessment>
  /** Seconds of the longest path that begins with an instance. */
  priorities: ReadonlyMap<string, number> = new Map()
  lanes!: Lanes
  stop!: Stop
  /** Only when something is to be sent. */
  executor: Executor | undefined
  #spent: ModelgateError | undefined

  constructor(
    call: RunCall,
    options: RunOptions,
    project: OpenProject,
    queue: OpenQueue | undefined,
    journal: Journal,
  ) {
    const { project: places, budget } = project.manifest
    const ownCost = budget.cost === null ? null : amountOf(budget.cost)
    this.call = call
    this.options = options
    this.project = project
    this.queue = queue
    this.journal = journal
    this.isChanging = options.mode === 'run' || options.mode === 'frozen'
    this.lock = keepLock(project.files, places, project.lock, options.shard === null)
    this.budget = new RunBudget({
      creates: lowest({ '--max-creates': options.maxCreates, 'budget.creates': budget.creates }),
      // The sandbox costs nothing.
      cost: places.isSandbox ? null : lowest({ '--max-cost': options.maxCost, 'budget.cost': ownCost }),
      currency: Object.values(call.prices)[0]?.currency ?? '',
      used: (journal.isResumed ? project.history.unfinished?.used : undefined) ?? { creates: 0, cost: 0n },
    })
  }

  get created(): number {
    return [...this.ends.values()].reduce((sum, end) => sum + end.created, 0)
  }

  async begin(): Promise<void> {
    const { call, options, project } = this
    const { context, listener, redactor } = call
    this.plan = await this.planOf(project)
    this.assessments = new Map(this.plan.assessments)
    if (this.isChanging) this.prioritise()
    const { clock } = context
    this.lanes = new Lanes({
      clock,
      concurrency: options.detach
        ? { text: handedOver, image: handedOver, video: handedOver }
        : project.manifest.lanes,
      jobs: [...this.assessments.values()].reduce((sum, one) => sum + requestsLeft(one), 0),
      deadline: options.timeoutS === undefined ? undefined : clock.monotonic() + options.timeoutS * 1000,
      // A gateway may quote the key.
      onChange: (event) => listener.event({ ...event, reason: redactor.text(event.reason) }),
    })
    this.stop = stopWithGrace(context, options.graceS, project.lost, (reason) => {
      this.lanes.stop(reason)
      this.executor?.stop?.(reason)
      const { inFlight } = this.lanes
      if (inFlight > 0) this.warn(stopText(inFlight, options.graceS, this.queue !== undefined))
    })
  }

  /** Of the chosen instances, or those of the shard. @throws FileError; ModelgateError (exit 15) */
  async planOf(project: OpenProject): Promise<Plan> {
    const { jobs, shard } = this.options
    const { signal } = this.call.context
    const costs = (instance: Instance) => this.costs(instance)
    const whole = selectInstances(project.manifest, jobs)
    const plan = await planRun(project, whole, { costs, signal })
    if (shard === null) return plan
    // Elements that are not known yet may be as many as are allowed.
    const waiting = [...plan.assessments.values()].filter(({ instance }) => instance.waiting !== undefined)
    const most = waiting.reduce((sum, one) => sum + requestsLeft(one) * one.instance.count, 0)
    this.budget.check('the plan', { creates: plan.creates + most, cost: plan.cost?.amount ?? null })
    return await planRun(project, await idsOfShard(project, whole, shard), { costs, signal })
  }

  prioritise(): void {
    const { instances } = this.project.manifest
    this.priorities = longestPaths(instances, estimateSeconds(instances.values(), this.lock.lock))
  }

  costs(instance: Instance): Cost | null {
    const { prices } = this.call
    return Object.keys(prices).length > 0 ? costBefore(prices, creationOf(instance)) : null
  }

  /** What one of its requests is counted as. */
  spendingOf(instance: Instance): Spending {
    return { creates: instance.count, cost: this.costs(instance)?.amount ?? null }
  }

  /** It is on disk, and in the history, when this resolves. @throws FileError */
  async record(event: JournalEvent): Promise<void> {
    // A gateway may quote the key anywhere, also in the id of a job: this process still knows that as it is.
    await this.journal.append(JSON.parse(this.call.redactor.document(JSON.stringify(event))) as JournalEvent)
    this.project.history.note(event)
  }

  emit(event: OutputEvent): void {
    this.call.listener.event(event)
  }

  warn(message: string): void {
    this.warnings.push(message)
    this.emit({ type: 'warning-add', message })
  }

  /** The budget is reached: what is under way continues, and nothing more is begun. */
  endBudget(error: ModelgateError): void {
    this.#spent ??= error
    this.lanes.stop(error)
  }

  /** Why the run has ended before it was done, if so: a signal, or its budget. */
  reason(): ModelgateError | undefined {
    const reason = this.stop.reason()
    return reason instanceof ModelgateError ? reason : this.#spent
  }

  facts(): RunFacts {
    const { call, options, project, plan, budget } = this
    const { mode, shard } = options
    const { stateFolder } = project.manifest.project
    return {
      mode,
      run: this.isChanging ? this.journal.run : null,
      shard: shard === null ? null : `${shard.index}/${shard.total}`,
      part: this.isChanging && shard !== null ? relative(call.context.cwd, stateFolder) : null,
      creates: { planned: plan.creates, made: budget.used.creates, limit: budget.maxCreates },
      estimate: plan.cost && describeCost(plan.cost),
      orphans: [...plan.orphans],
      warnings: [...this.warnings],
    }
  }
}

function stopText(inFlight: number, graceS: number, isQueued: boolean): string {
  const subject = inFlight === 1 ? 'one request is' : `${inFlight} requests are`
  const goesOn = isQueued
    ? `with the queue: what no worker has begun is taken back; the run waits ${graceS} s for the others, and the next run collects what arrives later.`
    : `under way and may continue for ${graceS} s.`
  return `Stopping: ${subject} ${goesOn} Another Ctrl-C ends the run at once.`
}

/** It depends on the manifest and the committed lock alone: a fan-out is in one part, whatever elements it has. */
async function idsOfShard(
  { manifest, written, committed: lock, inputDigest }: OpenProject,
  chosen: ReadonlySet<string>,
  { index, total }: Shard,
): Promise<ReadonlySet<string>> {
  const writtenId = (id: string) => (written.instances.has(id) ? id : manifest.instances.get(id)!.job)
  const keys = new Map<string, readonly string[]>()
  for (const id of new Set([...chosen].map(writtenId))) {
    const instance = written.instances.get(id)!
    const isWaiting = instance.waiting !== undefined
    const known = isWaiting ? [] : await keysByLock(instance, manifest.gateway, lock, inputDigest)
    keys.set(id, known ?? [])
  }
  const instances = [...keys.keys()].map((id) => written.instances.get(id)!)
  const shards = partition(instances, (id) => keys.get(id)!, lock, total)
  return new Set([...chosen].filter((id) => shards.get(writtenId(id)) === index))
}
