import { costBefore, type Cost } from '../../cost/estimate.ts'
import { ModelgateError } from '../../errors.ts'
import type { OutputEvent } from '../../events/documents.ts'
import { creationOf } from '../manifest/instance-body.ts'
import { openJournal } from '../journal/journal.ts'
import type { JournalEvent } from '../journal/journal-event.ts'
import { keysByLock } from '../plan/instance-key.ts'
import type { Instance } from '../manifest/manifest.ts'
import { requestsLeft } from '../plan/assessment.ts'
import { planRun } from '../plan/plan-run.ts'
import { matchInstances, selectInstances } from '../plan/select-instances.ts'
import { estimateSeconds, longestPaths } from '../schedule/expected-time.ts'
import { partition } from '../shards/partition.ts'
import { createLanes, type Lanes } from '../schedule/lanes.ts'
import { localExecutor } from './local-executor.ts'
import { keepLock } from './lock-keeper.ts'
import type { OpenProject } from './open-project.ts'
import type { Executor, OpenQueue, Run, RunCall, RunOptions } from './run-call.ts'
import { budgetOf, checkPrices, limitOf } from './run-limits.ts'
import { stopWithGrace } from './stop-run.ts'
import { lockWithUnfinished, takeUpReplies } from './resume-run.ts'

/**
 * Readies a run: takes up what an earlier process has left of it, and makes the plan. Nothing is sent.
 * @param isChanging whether anything may be written; otherwise the run only tells how things stand
 * @param queue what has the requests made; without it this process makes them
 * @throws UsageError for jobs that there are not, ModelgateError (exit 15) for a shard of a plan beyond the budget; FileError
 */
export async function beginRun(
  call: RunCall,
  options: RunOptions,
  project: OpenProject,
  isChanging: boolean,
  queue: OpenQueue | undefined,
): Promise<Run> {
  const { context, listener } = call
  const { manifest, history } = project
  const warnings: string[] = []
  const warn = (message: string) => {
    warnings.push(message)
    listener.event({ type: 'warning-add', message })
  }
  for (const message of [...manifest.warnings, ...history.problems]) warn(message)

  const regenerate = new Set(
    options.regenerate.length === 0 ? [] : matchInstances(manifest, options.regenerate),
  )
  const lock = new Map(await lockWithUnfinished(project, context.clock.now()))
  const inQueue = await takenUp(call, project, queue)
  const world = project.world({
    lock,
    inQueue,
    queue: queue?.server.identity ?? null,
    forced: { regenerate, force: options.force },
    isSentAgain: call.idempotencyHonoured || manifest.project.isSandbox,
  })
  const unfinished = options.newRun ? null : history.unfinished
  const journal = await openJournal(manifest.project, context.clock, unfinished)
  let hasBegun = unfinished !== null
  const record = async (event: JournalEvent) => {
    hasBegun = true
    // A gateway may quote the key anywhere, also in the id of a job: this process still knows that as it is.
    await journal.append(JSON.parse(call.redactor.document(JSON.stringify(event))) as JournalEvent)
    history.note(event)
  }
  const keeper = keepLock(project.files, manifest.project, lock, options.shard === null)
  if (isChanging) await takeUpReplies({ project, world, lock: keeper, record }, call)

  const costs = costsBy(call)
  const estimate = (instance: Instance) => ({ creates: creationOf(instance).count, cost: costs(instance) })
  const whole = selectInstances(manifest, options.jobs)
  const planOf = (ids: ReadonlySet<string>) => planRun(world, ids, { estimate, signal: context.signal })
  const budget = budgetOf(call, options, project, unfinished)
  let plan = await planOf(whole)
  if (options.shard !== null) {
    budget.checkPlan({ creates: plan.creates, cost: plan.cost?.amount ?? null })
    plan = await planOf(await idsOfShard(project, world, whole, options.shard))
  }
  if (isChanging) checkPrices(budget, plan, costs, options, project)

  const jobs = [...plan.assessments.values()].reduce((sum, one) => sum + requestsLeft(one), 0)
  const lanes = lanesOf(call, options, project, jobs)
  const executor = await executorOf(call, queue, inQueue)
  const stop = stopWithGrace(context, options.graceS, project.lost, (reason) => {
    lanes.stop(reason)
    void executor.stop(reason).then((inFlight) => {
      if (inFlight > 0) warn(executor.stopText(inFlight, options.graceS))
    })
  })
  let spent: ModelgateError | undefined
  return {
    call,
    options,
    project,
    world,
    plan,
    regenerate,
    assessments: new Map(plan.assessments),
    lock: keeper,
    journal,
    isResumed: unfinished !== null,
    executor,
    lanes,
    budget,
    maxCreates: limitOf(options, project)?.value ?? null,
    hasBegun: () => hasBegun,
    stop,
    variants: new Map(),
    priorities: isChanging
      ? longestPaths(manifest.instances, estimateSeconds(manifest.instances.values(), lock))
      : new Map(),
    costs,
    warnings,
    reason() {
      const reason = stop.reason()
      return reason instanceof ModelgateError ? reason : spent
    },
    forgetPick(id) {
      const block = lock.get(id)
      if (block === undefined) return
      lock.set(id, { ...block, picked: null })
      keeper.set(id, { ...block, picked: null })
    },
    endBudget(error) {
      spent ??= error
      lanes.stop(error)
    },
    emit: (event: OutputEvent) => listener.event(event),
    warn,
    record,
  }
}

/** @param jobs how many requests the run has */
function lanesOf(
  { context: { clock }, listener, redactor }: RunCall,
  { timeoutS, detach }: RunOptions,
  { manifest }: OpenProject,
  jobs: number,
): Lanes {
  return createLanes({
    clock,
    // What is only handed over has its place for a moment.
    concurrency: detach ? { text: handedOver, image: handedOver, video: handedOver } : manifest.lanes,
    jobs,
    deadline: timeoutS === undefined ? undefined : clock.monotonic() + timeoutS * 1000,
    // A gateway may quote the key.
    onChange: (event) => listener.event({ ...event, reason: redactor.text(event.reason) }),
  })
}

/** How many requests are handed over to a queue at once. */
const handedOver = 64

async function executorOf(
  { context, queue: call }: RunCall,
  queue: OpenQueue | undefined,
  inQueue: Set<string>,
): Promise<Executor> {
  if (queue === undefined) return localExecutor()
  const { RemoteExecutor } = await import('./remote-executor.ts')
  return new RemoteExecutor(queue, context.clock, call!.worker, inQueue)
}

/** Keys of requests that were given to the queue of this run. What only looks at how things stand does not ask it. */
async function takenUp(
  { context, queue }: RunCall,
  { history: { intents }, manifest }: OpenProject,
  opened: OpenQueue | undefined,
): Promise<Set<string>> {
  if (opened !== undefined) {
    const { keysInQueue } = await import('./remote-executor.ts')
    const laneOf = (id: string) => manifest.instances.get(id)?.lane
    return await keysInQueue(opened, { intents }, laneOf, context.clock.now())
  }
  const given = [...intents.values()].filter((intent) => intent.queue !== null)
  return new Set(queue === undefined ? [] : given.map(({ key }) => key))
}

/** What one request of an instance costs; null without prices. */
function costsBy({ prices }: RunCall): (instance: Instance) => Cost | null {
  const hasPrices = Object.keys(prices).length > 0
  return (instance) => (hasPrices ? costBefore(prices, creationOf(instance)) : null)
}

/** The part of the chosen instances that belongs to a shard. It depends on the manifest and the committed lock alone. */
async function idsOfShard(
  { manifest, lock }: OpenProject,
  { inputDigest }: Pick<Run['world'], 'inputDigest'>,
  chosen: ReadonlySet<string>,
  { index, total }: NonNullable<RunOptions['shard']>,
): Promise<ReadonlySet<string>> {
  const keys = new Map<string, readonly string[]>()
  for (const id of chosen) {
    const known = await keysByLock(manifest.instances.get(id)!, manifest.gateway, lock, inputDigest)
    keys.set(id, known ?? [])
  }
  const instances = [...chosen].map((id) => manifest.instances.get(id)!)
  const shards = partition(instances, (id) => keys.get(id)!, lock, total)
  return new Set([...chosen].filter((id) => shards.get(id) === index))
}
