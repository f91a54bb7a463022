import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { asModelgateError, billedOf, UsageError } from '../../errors.ts'
import { outputVersion } from '../../events/version.ts'
import type { RunDocument } from '../../events/run-document.ts'
import type { Outcome } from '../../operations/operation.ts'
import { describeCost } from '../../operations/document-cost.ts'
import { openJournal } from '../journal/journal.ts'
import { lanes as laneNames } from '../manifest/manifest.ts'
import { matchInstances, withNeeds, type Plan } from '../plan/plan-run.ts'
import { requestsLeft, type Assessment } from '../plan/project-state.ts'
import { exitOfRun } from '../run-exit.ts'
import { reopenPart, writePart, type PartInstance } from '../shards/part.ts'
import type { Shard } from '../shards/partition.ts'
import { digestOfFile, isTextType } from '../store/file-digest.ts'
import { describeEnd, runDocument, runFailure } from './describe.ts'
import { openLocal, takeUpReplies } from './make.ts'
import { openProject, withElements, type OpenProject } from './project.ts'
import { Run, type InstanceEnd, type OpenQueue, type RunCall, type RunOptions } from './run-state.ts'
import { ended, settleInstance } from './settle.ts'

/** Brings the outputs of a manifest up to date, or reports how they stand; the error has the exit code of the run. */
export async function runManifest(call: RunCall, options: RunOptions): Promise<Outcome<RunDocument>> {
  const isChanging = options.mode === 'run' || options.mode === 'frozen'
  let project: OpenProject | undefined
  let queue: OpenQueue | undefined
  let run: Run | undefined
  try {
    project = await openProject(call, isChanging, options.shard)
    call.listener.event({ type: 'start', version: outputVersion, command: 'run', model: null })
    // Before anything is written, and only where something may be made.
    if (options.mode === 'run') queue = await call.queue?.open()
    if (isChanging && options.shard !== null) await reopenPart(project.manifest.project)
    run = await beginRun(call, options, project, queue)
    reportPlan(run)
    if (isChanging) await settleRun(run)
    const document = describe(run)
    const failure = runFailure(options.mode, endsOf(run), document.left, run.reason())
    return { kind: 'ended', document, failure }
  } catch (thrown) {
    return { kind: 'failed', error: asModelgateError(thrown, false), document: run && describe(run) }
  } finally {
    await queue?.server.close()
    await project?.close()
  }
}

function describe(run: Run): RunDocument {
  return runDocument(run.call, run.project, endsOf(run), run.facts())
}

/** Those that have come to their end, and the others as they were assessed. */
function endsOf({ assessments, ends }: Run): readonly InstanceEnd[] {
  return [...assessments].map(([id, one]) => ends.get(id) ?? ended(one, null))
}

/** Takes up what an earlier process has left, and makes the plan. Nothing is sent. */
async function beginRun(
  call: RunCall,
  options: RunOptions,
  opened: OpenProject,
  queue: OpenQueue | undefined,
): Promise<Run> {
  const { history, manifest } = opened
  const { regenerate: names = [], force = false } = options
  const project = opened.with({
    inQueue: await keysInQueue(call, opened, queue),
    queue: queue?.server.identity ?? null,
    forced: { regenerate: names.length === 0 ? new Set() : matchInstances(manifest, names), force },
    isSentAgain: call.idempotencyHonoured || manifest.project.isSandbox,
  })
  const unfinished = options.newRun ? null : history.unfinished
  const journal = await openJournal(manifest.project, call.context.clock, unfinished)
  const run = new Run(call, options, project, queue, journal)
  for (const message of [...manifest.warnings, ...history.problems]) run.warn(message)
  if (run.isChanging) await takeUpReplies(run)
  // Of a text that is to be made again the elements are not known; of one that was left by a killed process they are now.
  run.project = project.with({ manifest: await withElements(project) })
  await run.begin()
  const { shared } = run.plan
  if (shared.size > 0) run.warn(sharedWarning(shared))
  // A limit on costs that cannot be checked is reported before anything is sent.
  for (const one of options.mode === 'run' ? run.assessments.values() : []) {
    if (requestsLeft(one) === 0) continue
    const { cost } = run.spendingOf(one.instance)
    run.budget.check(one.instance.id, { creates: 0, cost: cost === null ? null : 0n })
  }
  return run
}

/** A run that only looks at how things stand does not ask the queue. */
async function keysInQueue(call: RunCall, project: OpenProject, queue: OpenQueue | undefined) {
  if (queue !== undefined) return await (await import('./remote-executor.ts')).keysInQueue(queue, project)
  const given = [...project.history.intents.values()].filter((intent) => intent.queue !== undefined)
  return new Set(call.queue === undefined ? [] : given.map(({ key }) => key))
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

async function settleRun(run: Run): Promise<void> {
  const { call, queue } = run
  try {
    // Nothing is given to workers whose results could not be reported: it may be long until one ends.
    if (queue !== undefined) await call.listener.flush()
    if (await prepare(run)) {
      const openRemote = async (to: OpenQueue) => (await import('./remote-executor.ts')).openRemote(run, to)
      run.executor = await (queue === undefined ? openLocal(run) : openRemote(queue))
    }
    const sources = sourcesToMake(run)
    if (sources.size > 0) {
      await settleAll(run, sources)
      if (run.reason() === undefined) await addElements(run)
    }
    await settleAll(run, new Set(run.plan.assessments.keys()))
  } finally {
    run.stop.close()
    await endRun(run, endsOf(run)).finally(() => run.executor?.close?.())
  }
}

function reportPlan(run: Run): void {
  const { plan, project, assessments, options } = run
  const { lanes, project: places } = project.manifest
  const toMake = (lane: string) =>
    [...assessments.values()].filter((one) => one.instance.lane === lane && requestsLeft(one) > 0).length
  const { creates, estimate, part, run: id } = run.facts()
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

async function prepare(run: Run): Promise<boolean> {
  const { options, plan, project, assessments, ends } = run
  const open = [...assessments.values()].filter(({ instance }) => !ends.has(instance.id))
  for (const assessment of open) await storeMoved(project, assessment)
  const toMake = open.filter((one) => requestsLeft(one) > 0)
  if (options.mode !== 'run' || toMake.length === 0) return false
  const fanOuts = project.manifest.fanOuts.filter(({ job }) =>
    toMake.some(({ instance }) => instance.job === job),
  )
  const isBounded = run.budget.maxCreates !== null || project.manifest.project.isSandbox
  const unbounded = fanOuts.find((fanOut) => !(isBounded || fanOut.isBounded || options.isAttended))
  if (unbounded !== undefined) {
    const { job, source } = unbounded
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
    creates: plan.creates - run.created,
    elements: ofElements.reduce((sum, one) => sum + requestsLeft(one) * one.instance.count, 0),
    sources,
    estimate: plan.cost && describeCost(plan.cost),
  })
  if (isConfirmed) return true
  const of = sources.join(' and ')
  const message = ends.size === 0 ? 'Nothing was sent.' : `Nothing was made for the elements of ${of}.`
  throw new UsageError(message, { code: 'not_confirmed' })
}

/** The texts that fan-outs are made of, and what these need. */
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

async function addElements(run: Run): Promise<void> {
  const made = run.project.with({ lock: new Map(run.lock.lock) })
  run.project = made.with({ manifest: await withElements(made) })
  const plan = await run.planOf(run.project)
  const ended = [...run.ends].map(([id, { assessment }]) => [id, assessment] as const)
  run.assessments = new Map([...plan.assessments, ...ended])
  run.prioritise()
  run.plan = { ...plan, creates: run.created + plan.creates }
  reportPlan(run)
  await prepare(run)
}

/** What is to be moved may lie where another output belongs, and be the only copy: it is put aside first. */
async function storeMoved({ manifest, replaced }: OpenProject, { block, restore }: Assessment) {
  if (block === null || restore === null) return
  for (const [at, { path, sha256, media_type }] of block.outputs.entries()) {
    if (restore.result.outputs[at]?.path === path) continue
    const file = join(manifest.project.outputFolder, path)
    if ((await digestOfFile(file, isTextType(media_type)))?.sha256 === sha256) await replaced.putAside(file)
  }
}

/** Each instance begins when those that it refers to have come to their end. */
async function settleAll(run: Run, ids: ReadonlySet<string>): Promise<void> {
  const { plan, call, project, ends } = run
  const settling = new Map<string, Promise<void>>()
  for (const [id, assessment] of plan.assessments) {
    if (!ids.has(id) || ends.has(id)) continue
    const { instance } = assessment
    const upstream = instance.references.flatMap((reference) => settling.get(reference.instance) ?? [])
    const settle = async () => {
      await Promise.all(upstream)
      const end = await settleInstance(run, assessment)
      ends.set(id, end)
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

/** The lock, or the part of a shard, and that nothing is left to do. */
async function endRun(run: Run, ends: readonly InstanceEnd[]): Promise<void> {
  const { lock, journal, options, assessments, project } = run
  try {
    await lock.save()
    if (options.shard !== null) await leavePart(run, options.shard, ends)
    const isWhole = assessments.size === project.manifest.instances.size || options.shard !== null
    // What an earlier process left of other instances keeps its run open, with what that has counted.
    const mayEnd = isWhole || !journal.isResumed
    if (mayEnd && journal.hasEvents && ends.every(isOver)) await run.record({ type: 'end', run: journal.run })
  } finally {
    await journal.close()
  }
}

async function leavePart({ call, project, lock, options }: Run, shard: Shard, ends: readonly InstanceEnd[]) {
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
