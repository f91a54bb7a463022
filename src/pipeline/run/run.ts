import { join, relative } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { amountOf } from '../../cost/amount.ts'
import { costBefore, type Cost } from '../../cost/estimate.ts'
import { asModelgateError, billedOf, ModelgateError, UsageError } from '../../errors.ts'
import type { OutputEvent } from '../../events/documents.ts'
import { outputVersion } from '../../events/version.ts'
import type { RunDocument } from '../../events/run-document.ts'
import type { Outcome } from '../../operations/operation.ts'
import { describeCost } from '../../operations/spending.ts'
import { openJournal, type JournalEvent } from '../journal/journal.ts'
import type { Lock } from '../lock/lock-block.ts'
import { creationOf } from '../manifest/request-body.ts'
import { lanes as laneNames, type Instance } from '../manifest/manifest.ts'
import { keysByLock } from '../plan/instance-key.ts'
import { matchInstances, planRun, selectInstances, withNeeds, type Plan } from '../plan/plan-run.ts'
import { requestsLeft, type Assessment } from '../plan/project-state.ts'
import { exitOfRun } from '../run-exit.ts'
import { estimateSeconds, longestPaths } from '../schedule/expected-time.ts'
import { Lanes } from '../schedule/lanes.ts'
import { RunBudget } from '../schedule/run-budget.ts'
import { reopenPart, writePart, type PartInstance } from '../shards/part.ts'
import { partition, type Shard } from '../shards/partition.ts'
import { stopWithGrace } from '../stop.ts'
import { digestOfFile, isTextType } from '../store/file-digest.ts'
import { describeEnd, runDocument, runFailure, type RunFacts } from './describe.ts'
import { LocalExecutor, takeUpReplies } from './make.ts'
import { keepLock, openProject, withElements, type OpenProject } from './project.ts'
import type { Executor, InstanceEnd, OpenQueue, Run, RunCall, RunOptions } from './run-call.ts'
import { ended, settleInstance } from './settle.ts'

/**
 * Brings the outputs of a manifest up to date, or tells how they stand.
 * @returns the outcome, whose error has the exit code of the run
 */
export async function runManifest(call: RunCall, options: RunOptions): Promise<Outcome<RunDocument>> {
  const isChanging = options.mode === 'run' || options.mode === 'frozen'
  let project: OpenProject | undefined
  let describe: (() => RunDocument) | undefined
  let queue: OpenQueue | undefined
  try {
    project = await openProject(call, isChanging, options.shard)
    call.listener.event({ type: 'start', version: outputVersion, command: 'run', model: null })
    // Before anything is written, and only where something may be made.
    if (options.mode === 'run') queue = await call.queue?.open()
    if (isChanging && options.shard !== null) await reopenPart(project.manifest.project)
    const run = await beginRun(call, options, project, isChanging, queue)
    const known: Ends = new Map()
    const endsNow = () => [...run.assessments].map(([id, one]) => known.get(id) ?? ended(one, null))
    // Of many instances it is large, so it is put together only at the end.
    describe = () => runDocument(call, run.project, endsNow(), factsOf(run))
    reportPlan(run)
    if (isChanging) {
      try {
        // Nothing is given to workers whose results could not be told: it may be long until one ends.
        if (queue !== undefined) await call.listener.flush()
        if (await prepare(run, known)) await run.executor.open(run)
        const sources = sourcesToMake(run)
        if (sources.size > 0) {
          await settleAll(run, sources, known)
          if (run.reason() === undefined) await addElements(run, known)
        }
        await settleAll(run, new Set(run.plan.assessments.keys()), known)
      } finally {
        run.stop.close()
        await endRun(run, endsNow()).finally(() => run.executor.close())
      }
    }
    const document = describe()
    const failure = runFailure(options.mode, endsNow(), document.left, run.reason())
    return { kind: 'ended', document, failure }
  } catch (thrown) {
    return { kind: 'failed', error: asModelgateError(thrown, false), document: describe?.() }
  } finally {
    await queue?.close()
    await project?.close()
  }
}

type Ends = Map<string, InstanceEnd>

function reportPlan(run: Run): void {
  const { plan, project, assessments, options } = run
  const { lanes, project: places } = project.manifest
  const toMake = (lane: string) =>
    [...assessments.values()].filter((one) => one.instance.lane === lane && requestsLeft(one) > 0).length
  const { creates, estimate, part, run: id } = factsOf(run)
  run.emit({
    type: 'plan-make',
    run: id,
    folder: places.outputFolder,
    part,
    instances: assessments.size,
    states: { ...plan.states },
    lanes: laneNames
      .map((lane) => ({ lane, to_make: toMake(lane), concurrency: lanes[lane] }))
      .filter(({ to_make }) => to_make > 0 && options.mode !== 'frozen'),
    creates,
    estimate,
  })
}

/**
 * Asks whether what is planned may be made.
 * @param known what has come to its end already
 * @returns whether anything is to be sent
 */
async function prepare(run: Run, known: Ends): Promise<boolean> {
  const { options, plan, project, assessments } = run
  const open = [...assessments.values()].filter(({ instance }) => !known.has(instance.id))
  for (const assessment of open) await storeMoved(project, assessment)
  const toMake = open.filter((one) => requestsLeft(one) > 0)
  if (options.mode !== 'run' || toMake.length === 0) return false
  const fanOuts = project.manifest.fanOuts.filter(({ job }) =>
    toMake.some(({ instance }) => instance.job === job),
  )
  for (const { job, source, isBounded } of fanOuts) {
    if (options.isAttended || isBounded || run.maxCreates !== null || project.manifest.project.isSandbox)
      continue
    const message = `The text of ${source.text} decides how many results ${job} has: nothing bounds what that costs, and nobody can be asked here.`
    const hint =
      'Write max_instances in the job, or budget: { creates: N } in the manifest, or give --max-creates N.'
    throw new UsageError(message, { code: 'not_confirmed', hint })
  }
  const ofElements = toMake.filter(
    ({ instance: { job, waiting } }) => waiting === undefined && fanOuts.some((one) => one.job === job),
  )
  const sources = [...new Set(fanOuts.map(({ source }) => source.text))]
  const isConfirmed = await options.confirm({
    creates: plan.creates - createdBy(known),
    elements: ofElements.reduce((sum, one) => sum + requestsLeft(one) * one.instance.count, 0),
    sources,
    estimate: plan.cost === null ? null : describeCost(plan.cost),
  })
  if (isConfirmed) return true
  const of = sources.join(' and ')
  const message = known.size === 0 ? 'Nothing was sent.' : `Nothing was made for the elements of ${of}.`
  throw new UsageError(message, { code: 'not_confirmed' })
}

function createdBy(known: Ends): number {
  return [...known.values()].reduce((sum, end) => sum + end.created, 0)
}

/** What has to be made before the elements of fan-outs are known: their texts, and what these need. */
function sourcesToMake({ project: { manifest }, assessments, options }: Run): ReadonlySet<string> {
  if (options.mode !== 'run') return new Set()
  const waiting = [...assessments.values()].filter(
    ({ instance, state }) => instance.waiting !== undefined && state === 'pending',
  )
  return withNeeds(
    manifest,
    waiting.flatMap(({ instance }) => instance.references.map((one) => one.instance)),
  )
}

/** Plans the elements of fan-outs whose texts have been made, and asks about them. @throws what `prepare` does */
async function addElements(run: Run, known: Ends): Promise<void> {
  const { lock } = run
  const made = run.project.with({ lock: new Map(lock.lock) })
  const manifest = await withElements(made)
  run.project = made.with({ manifest })
  const plan = await run.planOf(run.project)
  const created = createdBy(known)
  const ended = [...known].map(([id, { assessment }]) => [id, assessment] as const)
  run.assessments = new Map([...plan.assessments, ...ended])
  run.priorities = prioritiesOf(manifest, lock.lock)
  run.plan = { ...plan, creates: created + plan.creates }
  reportPlan(run)
  await prepare(run, known)
}

/** What is to be moved may lie where another output belongs, and be the only copy: it is put aside first. */
async function storeMoved(
  { manifest, replaced }: OpenProject,
  { block, restore }: Assessment,
): Promise<void> {
  if (block === null || restore === null) return
  for (const [at, { path, sha256, media_type }] of block.outputs.entries()) {
    if (restore.result.outputs[at]?.path === path) continue
    const file = join(manifest.project.outputFolder, path)
    if ((await digestOfFile(file, isTextType(media_type)))?.sha256 === sha256) await replaced.putAside(file)
  }
}

/** Each instance begins when those that it refers to have come to their end. */
async function settleAll(run: Run, ids: ReadonlySet<string>, known: Ends): Promise<void> {
  const { plan, call, project } = run
  const settling = new Map<string, Promise<void>>()
  for (const [id, assessment] of plan.assessments) {
    if (!ids.has(id) || known.has(id)) continue
    const { instance } = assessment
    const upstream = instance.references.flatMap((reference) => settling.get(reference.instance) ?? [])
    const settle = async () => {
      await Promise.all(upstream)
      const end = await settleInstance(run, assessment)
      known.set(id, end)
      if (end.action !== null || end.error !== null) {
        const told = describeEnd(call, project.manifest.project, end, run.options.shard !== null)
        run.emit({ type: 'instance-end', ...told })
        await call.listener.flush()
      }
    }
    settling.set(id, settle())
  }
  await Promise.all(settling.values())
}

/** Writes down what has been reached: the lock, or the part of a shard, and that nothing is left to do. */
async function endRun(run: Run, ends: readonly InstanceEnd[]): Promise<void> {
  const { lock, journal, options, isResumed, assessments, project } = run
  try {
    await lock.save()
    if (options.shard !== null) await leavePart(run, options.shard, ends)
    const isWhole = assessments.size === project.manifest.instances.size || options.shard !== null
    // What an earlier process left of other instances keeps its run open, with what that has counted.
    const mayEnd = isWhole || !isResumed
    if (mayEnd && run.hasBegun() && ends.every(isOver)) await run.record({ type: 'end', run: journal.run })
  } finally {
    await journal.close()
  }
}

/** Writes down what a shard has made, for `run merge`. @throws FileError */
async function leavePart(
  { call, project, lock, options }: Run,
  shard: Shard,
  ends: readonly InstanceEnd[],
): Promise<void> {
  const ids = ends.map(({ assessment }) => assessment.instance.id)
  const before = project.committed
  const changed = ids.flatMap((id) => {
    const block = lock.lock.get(id)
    return block === undefined || isDeepStrictEqual(block, before.get(id)) ? [] : [[id, block] as const]
  })
  // Of those that the project had before, the machine that merges may have nothing.
  for (const [, { key }] of changed) {
    const found = await project.results.get(key)
    if (found !== undefined) await project.results.take(found)
  }
  const report = {
    manifest: project.manifest.sha256,
    shard,
    jobs: [...options.jobs],
    instances: ends.map((end) => reportOf(call, end)),
  }
  await writePart(project.manifest.project, report, { before, changed: new Map(changed) })
}

function reportOf({ redactor }: RunCall, { assessment, action, error }: InstanceEnd): PartInstance {
  const { id } = assessment.instance
  if (error === null || assessment.state === 'unknown') return { id }
  if (action === 'skipped') return { id, left: true }
  // A code may be the gateway's own word.
  const told = { code: redactor.text(error.code), message: redactor.text(error.message) }
  return { id, error: { exit: exitOfRun([error.exit]), ...told, billed: billedOf(error) } }
}

function isOver({ assessment, error }: InstanceEnd): boolean {
  return error === null && requestsLeft(assessment) === 0 && assessment.state !== 'unknown'
}

function factsOf({ call, project, options, journal, plan, budget, maxCreates, warnings }: Run): RunFacts {
  const isChanging = options.mode === 'run' || options.mode === 'frozen'
  const { shard } = options
  const part = isChanging && shard !== null ? project.manifest.project.stateFolder : null
  return {
    mode: options.mode,
    run: isChanging ? journal.run : null,
    shard: shard === null ? null : `${shard.index}/${shard.total}`,
    part: part === null ? null : relative(call.context.cwd, part),
    creates: { planned: plan.creates, made: budget.used.creates, limit: maxCreates },
    estimate: plan.cost === null ? null : describeCost(plan.cost),
    orphans: [...plan.orphans],
    warnings: [...warnings],
  }
}

/**
 * Readies a run: takes up what an earlier process has left of it, and makes the plan. Nothing is sent.
 * @param isChanging whether anything may be written; otherwise the run only tells how things stand
 * @param queue what has the requests made; without it this process makes them
 */
async function beginRun(
  call: RunCall,
  options: RunOptions,
  opened: OpenProject,
  isChanging: boolean,
  queue: OpenQueue | undefined,
): Promise<Run> {
  const { context, listener } = call
  const { history, lock } = opened
  const warnings: string[] = []
  const warn = (message: string) => {
    warnings.push(message)
    listener.event({ type: 'warning-add', message })
  }
  for (const message of [...opened.manifest.warnings, ...history.problems]) warn(message)

  const regenerate = new Set(
    options.regenerate.length === 0 ? [] : matchInstances(opened.manifest, options.regenerate),
  )
  const { executor, inQueue } = await executorOf(call, opened, queue)
  const resumed = opened.with({
    // The run's own copy, which `forgetPick` changes.
    lock: new Map(lock),
    inQueue,
    queue: queue?.server.identity ?? null,
    forced: { regenerate, force: options.force },
    isSentAgain: call.idempotencyHonoured || opened.manifest.project.isSandbox,
  })
  const unfinished = options.newRun ? null : history.unfinished
  const journal = await openJournal(opened.manifest.project, context.clock, unfinished)
  let hasBegun = unfinished !== null
  const record = async (event: JournalEvent) => {
    hasBegun = true
    // A gateway may quote the key anywhere, also in the id of a job: this process still knows that as it is.
    await journal.append(JSON.parse(call.redactor.document(JSON.stringify(event))) as JournalEvent)
    history.note(event)
  }
  const keeper = keepLock(opened.files, opened.manifest.project, lock, options.shard === null)
  if (isChanging) await takeUpReplies({ project: resumed, lock: keeper, record }, call)
  // Of a text that is to be made again the elements are not known; of one that was left by a killed process they are now.
  const manifest = await withElements(resumed)
  const project = resumed.with({ manifest })
  const costs = costsBy(call)
  const estimate = (instance: Instance) => ({ creates: creationOf(instance).count, cost: costs(instance) })
  const budget = budgetOf(call, options, project, unfinished)
  const planOf = async (of: OpenProject) => {
    const whole = selectInstances(of.manifest, options.jobs)
    const plan = await planRun(of, whole, { estimate, signal: context.signal })
    if (options.shard === null) return plan
    // Elements that are not known yet may be as many as are allowed.
    const waiting = [...plan.assessments.values()].filter(({ instance }) => instance.waiting !== undefined)
    const most = waiting.reduce((sum, one) => sum + requestsLeft(one) * estimate(one.instance).creates, 0)
    budget.checkPlan({ creates: plan.creates + most, cost: plan.cost?.amount ?? null })
    const ids = await idsOfShard(of, whole, options.shard)
    return await planRun(of, ids, { estimate, signal: context.signal })
  }
  const plan = await planOf(project)
  if (plan.shared.size > 0) warn(sharedWarning(plan.shared))
  if (isChanging) checkPrices(budget, plan, costs, options, project)

  const jobs = [...plan.assessments.values()].reduce((sum, one) => sum + requestsLeft(one), 0)
  const lanes = lanesOf(call, options, project, jobs)
  const stop = stopWithGrace(context, options.graceS, project.lost, (reason) => {
    lanes.stop(reason)
    const inFlight = executor.stop(reason)
    if (inFlight > 0) warn(stopText(inFlight, options.graceS, executor))
  })
  let spent: ModelgateError | undefined
  return {
    call,
    options,
    project,
    plan,
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
    priorities: isChanging ? prioritiesOf(manifest, lock) : new Map(),
    costs,
    warnings,
    reason() {
      const reason = stop.reason()
      return reason instanceof ModelgateError ? reason : spent
    },
    planOf,
    endBudget(error) {
      spent ??= error
      lanes.stop(error)
    },
    emit: (event: OutputEvent) => listener.event(event),
    warn,
    record,
  }
}

function prioritiesOf({ instances }: OpenProject['manifest'], lock: Lock): ReadonlyMap<string, number> {
  return longestPaths(instances, estimateSeconds(instances.values(), lock))
}

/** Of rows whose requests came out equal by mistake, each would get the result of another without a word. */
function sharedWarning(shared: Plan['shared']): string {
  const [[id, maker] = ['', '']] = shared
  const who =
    shared.size === 1
      ? `${id} shares a request with ${maker} and gets its result.`
      : `${shared.size} instances share a request with another and get its result, such as ${id} that of ${maker}.`
  return `${who} \`distinct: true\` in a job makes each of its instances its own.`
}

function stopText(inFlight: number, graceS: number, { queue }: Executor): string {
  const subject = inFlight === 1 ? 'one request is' : `${inFlight} requests are`
  const goesOn =
    queue === null
      ? `under way and may continue for ${graceS} s.`
      : `with the queue: what no worker has begun is taken back; the run waits ${graceS} s for the others, and the next run collects what arrives later.`
  return `Stopping: ${subject} ${goesOn} Another Ctrl-C ends the run at once.`
}

function lanesOf(
  { context: { clock }, listener, redactor }: RunCall,
  { timeoutS, detach }: RunOptions,
  { manifest }: OpenProject,
  jobs: number,
): Lanes {
  return new Lanes({
    clock,
    // What is only handed over has its place for a moment.
    concurrency: detach ? { text: handedOver, image: handedOver, video: handedOver } : manifest.lanes,
    jobs,
    deadline: timeoutS === undefined ? undefined : clock.monotonic() + timeoutS * 1000,
    // A gateway may quote the key.
    onChange: (event) => listener.event({ ...event, reason: redactor.text(event.reason) }),
  })
}

const handedOver = 64

/** What makes the attempts, and the keys of requests that its queue has. What only looks at how things stand does not ask it. */
async function executorOf(
  call: RunCall,
  project: OpenProject,
  queue: OpenQueue | undefined,
): Promise<{ readonly executor: Executor; readonly inQueue: Set<string> }> {
  if (queue === undefined) {
    const given = [...project.history.intents.values()].filter((intent) => intent.queue !== null)
    const inQueue = new Set(call.queue === undefined ? [] : given.map(({ key }) => key))
    return { executor: new LocalExecutor(), inQueue }
  }
  const { keysInQueue, RemoteExecutor } = await import('./remote-executor.ts')
  const inQueue = await keysInQueue(queue, project)
  return { executor: new RemoteExecutor(queue, call, inQueue), inQueue }
}

function costsBy({ prices }: RunCall): (instance: Instance) => Cost | null {
  const hasPrices = Object.keys(prices).length > 0
  return (instance) => (hasPrices ? costBefore(prices, creationOf(instance)) : null)
}

/**
 * The part of the chosen instances that belongs to a shard. It depends on the manifest and the committed lock alone: a
 * fan-out is in one part, whatever elements it has.
 */
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

/** The lower one of the limits that are set. */
function lowest<Value extends number | bigint>(limits: Readonly<Record<string, Value | null | undefined>>) {
  const given = Object.entries(limits).flatMap(([name, value]) => (value == null ? [] : [{ value, name }]))
  const [one, other] = given
  return other !== undefined && other.value < one!.value ? other : (one ?? null)
}

/** How many results may be created. */
function limitOf({ maxCreates }: RunOptions, { manifest: { budget } }: OpenProject) {
  return lowest({ '--max-creates': maxCreates, 'budget.creates': budget.creates })
}

/** The limit on costs; null where there is none. The sandbox costs nothing. */
function costLimitOf({ prices }: RunCall, { maxCost }: RunOptions, { manifest }: OpenProject) {
  const { budget, project } = manifest
  const own = budget.cost === null ? null : amountOf(budget.cost)
  const limit = project.isSandbox ? null : lowest({ '--max-cost': maxCost, 'budget.cost': own })
  return limit && { ...limit, currency: Object.values(prices)[0]?.currency ?? '' }
}

/** What the run may create and spend, those of its earlier processes included. */
function budgetOf(
  call: RunCall,
  options: RunOptions,
  project: OpenProject,
  unfinished: OpenProject['history']['unfinished'],
): RunBudget {
  return new RunBudget({
    creates: limitOf(options, project),
    cost: costLimitOf(call, options, project),
    used: unfinished?.used ?? nothing,
  })
}

const nothing = { creates: 0, cost: 0n }

/** A limit on costs that cannot be checked is told before anything is sent. */
function checkPrices(
  budget: RunBudget,
  { assessments }: Plan,
  costs: Run['costs'],
  { mode }: RunOptions,
  { manifest }: OpenProject,
): void {
  if (mode !== 'run' || manifest.project.isSandbox) return
  for (const assessment of assessments.values()) {
    if (requestsLeft(assessment) === 0) continue
    const { instance } = assessment
    const cost = costs(instance)
    budget.take(instance.id, { creates: 0, cost: cost === null || cost.amount === null ? null : 0n })
  }
}
