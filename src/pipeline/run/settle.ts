import { sumOfMoney } from '../../cost/amount.ts'
import { asModelgateError, ModelgateError } from '../../errors.ts'
import type { RunAction } from '../../events/run-document.ts'
import { provenanceOf, type LockBlock, type Result } from '../lock/lock-block.ts'
import { promptOf, type Instance } from '../manifest/manifest.ts'
import { assess } from '../plan/assess.ts'
import { placeOutputs } from '../manifest/output-paths.ts'
import { findResult, placeOutputFiles } from '../plan/result-files.ts'
import type { Assessment } from '../plan/project-state.ts'
import { isTextType } from '../store/file-digest.ts'
import { moveOutput, removeOutput } from '../store/place-output.ts'
import { makeVariant } from './make.ts'
import type { InstanceEnd, Run } from './run-state.ts'

/** Brings one instance up to date, when those that it refers to have come to their end. Never throws. */
export async function settleInstance(run: Run, planned: Assessment): Promise<InstanceEnd> {
  const { instance, state } = planned
  const isWaiting = state === 'pending' || state === 'blocked'
  let end: InstanceEnd
  try {
    end = await settle(run, isWaiting ? await assessAgain(run, planned) : planned)
  } catch (thrown) {
    const now = run.assessments.get(instance.id)!
    end = { ...ended(now, 'failed'), error: asModelgateError(thrown, false) }
  }
  run.assessments.set(instance.id, end.assessment)
  return end
}

async function assessAgain(run: Run, { instance }: Assessment): Promise<Assessment> {
  const { assessments, project } = run
  const again = await assess(instance, project, assessments)
  assessments.set(instance.id, again)
  return again
}

/** @param action what was done about it; null for nothing */
export function ended(assessment: Assessment, action: RunAction | null): InstanceEnd {
  const outputs = assessment.block?.outputs ?? []
  return { assessment, action, outputs, error: null, created: 0, took_s: null, cost: null }
}

function settle(run: Run, now: Assessment): InstanceEnd | Promise<InstanceEnd> {
  const { restore, state, toMake } = now
  if (restore !== null) return putInPlace(run, now, restore)
  if (toMake.length > 0) return run.options.mode === 'run' ? make(run, now) : ended(now, 'skipped')
  switch (state) {
    case 'fresh':
      return settleFresh(run, now)
    case 'changed':
    case 'in_the_way':
    case 'adopted':
      return ended(now, 'kept')
    case 'pending':
    case 'blocked':
      return { ...ended(now, 'skipped'), error: run.options.mode === 'run' ? tooManyElements(now) : null }
    default:
      return ended(now, null)
  }
}

function tooManyElements({ instance: { waiting } }: Assessment): ModelgateError | null {
  if (waiting === undefined || waiting.problem === null) return null
  return new ModelgateError('limit', 'creations_limit', waiting.problem, {
    billed: 'no',
    hint: 'Nothing was made of it. Raise max_instances of the job, or have the text made again.',
  })
}

/** A killed process did not get to it: the request was made again, and its result is not in its place yet. */
async function settleFresh(run: Run, now: Assessment): Promise<InstanceEnd> {
  const { instance, block, key } = now
  const { history, results } = run.project
  const isRemade =
    key !== null &&
    history.remade.has(key) &&
    hasOneResult(instance) &&
    history.results.get(key)?.rejected === null
  const other = isRemade ? (await results.get(key))?.result : undefined
  const isPlaced = other?.outputs.every(({ sha256 }, at) => sha256 === block?.outputs[at]?.sha256) ?? true
  if (isPlaced) return ended(now, null)
  return ended(freshAs(now, await placeResult(run, now, other!, instance.pick)), 'generated')
}

function hasOneResult({ variants, pick }: Instance): boolean {
  return variants === 1 || pick !== null
}

/** A result that is there already, or that is no longer rejected. */
async function putInPlace(run: Run, now: Assessment, { result, picked }: NonNullable<Assessment['restore']>) {
  const recorded = now.key === null ? undefined : run.project.history.results.get(now.key)
  const isRenamed = now.lockedAs !== null && now.lockedAs !== now.instance.id
  const before = now.block?.key === now.key ? now.block?.outputs : undefined
  const wasRejected = before === undefined && recorded !== undefined && recorded.rejected !== null
  const isMoved = isRenamed || before?.some(({ path }, at) => path !== result.outputs[at]?.path) === true
  const block = await placeResult(run, now, result, picked)
  return ended(freshAs(now, block), wasRejected ? 'accepted' : isMoved ? 'moved' : 'restored')
}

function freshAs(now: Assessment, block: LockBlock): Assessment {
  return {
    ...now,
    // What was adopted for another request is still to be decided on when its file is back.
    state: now.state === 'adopted' ? 'adopted' : 'fresh',
    key: block.key,
    reasons: now.state === 'adopted' ? now.reasons : [],
    toMake: [],
    block,
    lockedAs: now.instance.id,
    restore: null,
    moves: [],
  }
}

async function make(run: Run, now: Assessment): Promise<InstanceEnd> {
  const { instance, toMake } = now
  if (run.project.forced.regenerate.has(instance.id)) await discardAll(run, now)
  const variants = await Promise.all(toMake.map((variant) => makeVariant(run, now, variant)))
  const times = variants.flatMap(({ result }) => result?.took_s ?? [])
  const sums = {
    created: variants.reduce((sum, { created }) => sum + created, 0),
    took_s: times.length === 0 ? null : Math.max(...times),
    cost: sumOfMoney(variants.map(({ cost }) => cost)),
  }
  const errors = variants.flatMap((one) => one.error ?? [])
  // An unknown outcome first: it needs a person.
  const error = errors.find(({ exit }) => exit === 'unknown') ?? errors[0]
  if (error !== undefined) return { ...(await failed(run, now, error)), ...sums }
  const [only] = variants
  if (hasOneResult(instance) && only !== undefined && only.result !== null && !only.isRejected) {
    const block = await placeResult(run, now, only.result, instance.pick)
    return { ...ended(freshAs(now, block), 'generated'), ...sums }
  }
  // One of several was made, or one that is rejected: what that comes to is decided as at the start of a run.
  const again = await assessAgain(run, now)
  if (again.restore !== null) {
    return { ...(await putInPlace(run, again, again.restore)), ...sums, action: 'generated' }
  }
  const action = again.state === 'rejected' ? 'rejected' : again.state === 'awaiting' ? 'awaiting' : null
  const outputs = variants.flatMap(({ result }) => result?.outputs ?? [])
  return { ...ended(again, action), outputs, ...sums }
}

/** From now on it is an instance like others. */
async function discardAll(run: Run, { instance, toMake }: Assessment): Promise<void> {
  for (const { key } of toMake) await run.record({ type: 'discard', key })
  run.project.forced.regenerate.delete(instance.id)
  const block = run.lock.lock.get(instance.id)
  if (instance.variants > 1 && block !== undefined) run.lock.set(instance.id, { ...block, picked: null })
}

async function failed(run: Run, now: Assessment, error: ModelgateError): Promise<InstanceEnd> {
  if (error.exit === 'limit') return { ...ended(now, 'skipped'), error }
  const isCut = cutShort.has(error.exit)
  if (error.exit === 'running' && error.facts.phase === 'result') {
    return { ...ended({ ...(await assessAgain(run, now)), state: 'unfetched' }, 'unfetched'), error }
  }
  if (error.exit !== 'unknown' && !isCut) return { ...ended(now, 'failed'), error }
  // The journal says whether it had been sent.
  const again = await assessAgain(run, now)
  const action = again.state === 'unknown' ? 'unknown' : isCut ? 'skipped' : 'failed'
  return { ...ended(again, action), error }
}

/** A signal, or a job that continues at the gateway: the next run continues, too. */
const cutShort: ReadonlySet<ModelgateError['exit']> = new Set(['interrupt', 'hangup', 'terminate', 'running'])

/** A shard only locks: whoever merges the parts places the files. @param picked which of several candidates it is */
async function placeResult(run: Run, assessment: Assessment, result: Result, picked: number | null) {
  const { project, options } = run
  const { instance, lockedAs, block: before } = assessment
  // A frozen one keeps the key that it is locked with.
  const key = assessment.key ?? ''
  const outputs = placeOutputs(instance, result, project.now)
  if (options.shard === null) {
    const sources = await findResult(key, result, project)
    const kept = before === null ? undefined : await project.results.get(before.key)
    for (const { from, to } of assessment.moves) {
      const { sha256, media_type } = outputs.find(({ path }) => path === to)!
      const moving = { from, path: to, sha256, isText: isTextType(media_type) }
      await moveOutput(project.files, project.manifest.project, moving)
    }
    const digests = new Set(kept?.result.outputs.map(({ sha256 }) => sha256))
    await placeOutputFiles(project.files, project, outputs, sources, digests)
    for (const facts of before?.outputs ?? []) {
      if (!project.isOutput(facts.path)) await removeOutput(project.manifest.project, project.replaced, facts)
    }
  }
  const block: LockBlock = {
    ...provenanceOf(result),
    outputs,
    key,
    fields: assessment.fields ?? {},
    picked,
    adopted: before?.key === key ? before.adopted : null,
    prompt: project.manifest.locksPrompts ? promptOf(instance) : null,
  }
  const isFormer = lockedAs !== null && lockedAs !== instance.id && !project.manifest.instances.has(lockedAs)
  run.lock.set(instance.id, block, isFormer ? lockedAs : undefined)
  return block
}
