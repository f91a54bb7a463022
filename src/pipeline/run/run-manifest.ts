import { join, relative } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { asModelgateError, billedOf, UsageError } from '../../errors.ts'
import { outputVersion } from '../../events/output-schema.ts'
import type { RunDocument } from '../../events/run-document.ts'
import type { Outcome } from '../../operations/operation.ts'
import { describeCost } from '../../operations/spending.ts'
import { lanes as laneNames } from '../manifest/manifest.ts'
import { requestsLeft, type Assessment } from '../plan/assessment.ts'
import { reopenPart, writePart, type PartInstance } from '../shards/part.ts'
import { digestOfFile, isTextType } from '../store/file-digest.ts'
import { exitOfRun } from '../run-exit.ts'
import { beginRun } from './begin-run.ts'
import { openProject, type OpenProject } from './open-project.ts'
import type { OpenQueue, InstanceEnd, Run, RunCall, RunOptions } from './run-call.ts'
import { describeEnd, exitsOf, runDocument, runFailure, type RunFacts } from './describe-run.ts'
import { ended, settleInstance } from './settle-instance.ts'

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
    let ends: readonly InstanceEnd[] = [...run.plan.assessments.values()].map((assessment) =>
      ended(assessment, null),
    )
    // Of many instances it is large, so it is put together only at the end.
    describe = () => runDocument(call, run.project, ends, factsOf(run))
    reportPlan(run)
    if (isChanging) {
      try {
        // Nothing is given to workers whose results could not be told: it may be long until one ends.
        if (queue !== undefined) await call.listener.flush()
        await prepare(run)
        ends = await settleAll(run)
      } finally {
        run.stop.close()
        await endRun(run, ends).finally(() => run.executor.close())
      }
    }
    const document = describe()
    return { kind: 'ended', document, failure: runFailure(options.mode, ends, document.left, run.reason()) }
  } catch (thrown) {
    return { kind: 'failed', error: asModelgateError(thrown, false), document: describe?.() }
  } finally {
    await queue?.close()
    await project?.close()
  }
}

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
 * Asks whether the run may begin, and opens the gateway, where something is to be sent.
 * @throws UsageError `not_confirmed`; ModelgateError (exit 2, 3) from the gateway's settings
 */
async function prepare(run: Run): Promise<void> {
  const { options, plan, project, assessments } = run
  const isSending = options.mode === 'run' && [...assessments.values()].some((one) => requestsLeft(one) > 0)
  for (const assessment of assessments.values()) await storeMoved(project, assessment)
  if (!isSending) return
  const estimate = plan.cost === null ? null : describeCost(plan.cost)
  if (!(await options.confirm(plan.creates, estimate))) {
    throw new UsageError('Nothing was sent.', { code: 'not_confirmed' })
  }
  await run.executor.open(run)
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
async function settleAll(run: Run): Promise<InstanceEnd[]> {
  const { plan, call, project } = run
  const ends = new Map<string, Promise<InstanceEnd>>()
  for (const [id, assessment] of plan.assessments) {
    const { instance } = assessment
    const upstream = instance.references.flatMap((reference) => ends.get(reference.instance) ?? [])
    const settle = async () => {
      await Promise.all(upstream)
      const end = await settleInstance(run, assessment)
      if (end.action !== null || end.error !== null) {
        const told = describeEnd(call, project.manifest.project, end, run.options.shard !== null)
        run.emit({ type: 'instance-end', ...told })
        await call.listener.flush()
      }
      return end
    }
    ends.set(id, settle())
  }
  return await Promise.all(ends.values())
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
  { call, project, lock, options, reason }: Run,
  shard: NonNullable<RunOptions['shard']>,
  ends: readonly InstanceEnd[],
): Promise<void> {
  const ids = ends.map(({ assessment }) => assessment.instance.id)
  const before = project.lock
  const changed = ids.flatMap((id) => {
    const block = lock.lock.get(id)
    return block === undefined || isDeepStrictEqual(block, before.get(id)) ? [] : [[id, block] as const]
  })
  const report = {
    manifest: project.manifest.sha256,
    shard,
    jobs: [...options.jobs],
    exit: exitOfRun(exitsOf(ends, options.mode, reason())),
    instances: ends.map((end) => reportOf(call, end)),
  }
  await writePart(project.manifest.project, report, { before, changed: new Map(changed) })
}

function reportOf({ redactor }: RunCall, end: InstanceEnd): PartInstance {
  const { assessment, error } = end
  const { id } = assessment.instance
  const outcome = outcomeOf(end)
  if (error === null || outcome !== 'failed') return { id, outcome }
  // A code may be the gateway's own word.
  const told = { code: redactor.text(error.code), message: redactor.text(error.message) }
  return { id, outcome, error: { exit: exitOfRun([error.exit]), ...told, billed: billedOf(error) } }
}

function outcomeOf({ assessment: { state }, action, error }: InstanceEnd): PartInstance['outcome'] {
  if (state === 'unknown') return 'unknown'
  if (action === 'skipped' && error !== null) return 'left'
  if (error !== null || state === 'rejected') return 'failed'
  return state === 'fresh' ? 'done' : 'outdated'
}

/** Whether there is nothing that another process of the same run would do about it. */
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
