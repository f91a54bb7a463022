import { randomHex } from '../../context.ts'
import { amountNumber } from '../../cost/amount.ts'
import { asModelgateError, billedOf, FileError, ModelgateError } from '../../errors.ts'
import { creationOf } from '../manifest/instance-body.ts'
import { isAnswered } from '../schedule/attempt-error.ts'
import { executeTask } from '../execute/execute-task.ts'
import type { Task, TaskResult, UpstreamResult } from '../execute/task.ts'
import type { Assessment, Variant } from '../plan/assessment.ts'
import { upstreamFiles } from '../plan/upstream-result.ts'
import { keepResult, workFolder } from './keep-result.ts'
import type { MadeVariant, Run } from './run-call.ts'

/** Makes a candidate, or goes on with it. Never throws: each instance tells its own failure. */
export function makeVariant(run: Run, assessment: Assessment, variant: Variant): Promise<MadeVariant> {
  const { variants } = run
  const known = variants.get(variant.key)
  // Whoever else wants the same gets it without a request of its own.
  if (known !== undefined) return known.then((other) => ({ ...other, created: 0, cost: null }))
  const made = make(run, assessment, variant).catch((error: unknown) => ({
    ...nothing,
    error: asModelgateError(error, false),
  }))
  variants.set(variant.key, made)
  return made
}

const nothing: MadeVariant = { made: null, error: null, created: 0, cost: null, took_s: null }

/** Thousands may wait here for their turn: what is needed only then is made only then. */
async function make(run: Run, { instance }: Assessment, { key, number }: Variant): Promise<MadeVariant> {
  const { lanes, priorities, project } = run
  const { history } = project
  const request = { instance, key, variant: number }
  // What has been started already goes first: its result may expire.
  const order = { priority: priorities.get(instance.id) ?? 0, isFollowUp: history.jobs.has(key) }
  let created = 0
  try {
    const result = await lanes.run(instance.lane, order, async (attempt) => {
      const upstream = await filesOfReferences(run, instance)
      // What an earlier process has lost is another request now: it may be paid for twice, so it counts twice.
      const isLost = history.intents.has(key) && !history.jobs.has(key) && !run.world.isSentAgain
      if (isLost) await run.record({ type: 'discard', key })
      const resumed = history.intents.has(key)
      if (!resumed) created += await beginRequest(run, request)
      const { id } = instance
      run.emit({
        type: 'instance-start',
        instance: id,
        lane: instance.lane,
        variant: number,
        attempt,
        resumed,
      })
      const task: Task = {
        ...request,
        folder: folderOf(run, key),
        idempotencyKey: history.intents.get(key)?.idempotencyKey ?? '',
        upstream,
        job: jobOf(run, key),
        onJob: (jobId, kind) => run.record({ type: 'job', key, id: jobId, kind }),
        onProgress: ({ state, percent }) =>
          run.emit({ type: 'instance-progress', instance: id, variant: number, state, percent }),
      }
      try {
        return await attemptTask(run, task)
      } catch (thrown) {
        // Before it waits to be sent again: a run that is killed meanwhile must not leave it in doubt.
        created -= await giveUp(run, request, realError(asModelgateError(thrown, false)), resumed)
        throw thrown
      } finally {
        order.isFollowUp = history.jobs.has(key)
      }
    })
    return { ...(await finish(run, request, result)), created }
  } catch (thrown) {
    const error = realError(asModelgateError(thrown, false))
    return { ...nothing, error, created }
  }
}

type Request = Pick<Task, 'instance' | 'key' | 'variant'>

function folderOf({ project }: Run, key: string): string {
  return workFolder(project.manifest.project.stateFolder, key)
}

/**
 * Counts the request, and has its intent on disk before it is sent.
 * @returns how much it creates
 * @throws ModelgateError (exit 15) when the budget is reached; FileError
 */
async function beginRequest(run: Run, { instance, key, variant }: Request): Promise<number> {
  const { count: creates } = creationOf(instance)
  const known = run.costs(instance)
  const cost = known === null || known.amount === null ? null : known.amount
  try {
    run.budget.take(instance.id, { creates, cost })
  } catch (error) {
    if (error instanceof ModelgateError && error.exit === 'limit') run.endBudget(error)
    throw error
  }
  await run.record({
    type: 'intent',
    instance: instance.id,
    key,
    variant,
    idempotency_key: randomHex(run.call.context.clock, 32),
    creates,
    cost: cost === null ? null : amountNumber(cost),
  })
  return creates
}

/** One attempt. What may be tried again although its outcome is unknown becomes an error that the lanes try again. */
async function attemptTask(run: Run, task: Task): Promise<TaskResult> {
  const { execute, world } = run
  try {
    return await executeTask(execute!, task)
  } catch (error) {
    if (!(error instanceof ModelgateError) || error.exit !== 'unknown') throw error
    const again = error.amend({ exit: 'later', billed: 'no', cause: error })
    if (world.isSentAgain) throw again
    if (task.instance.onUnknown === 'stop') throw error
    // It may be paid for twice, so it counts twice.
    await run.record({ type: 'discard', key: task.key })
    throw again
  }
}

/** The error of an attempt that was to be tried again, if there was no other. */
function realError(error: ModelgateError): ModelgateError {
  const { cause } = error.facts
  return cause instanceof ModelgateError && cause.exit === 'unknown' ? cause : error
}

function jobOf({ project }: Run, key: string): Task['job'] {
  const job = project.history.jobs.get(key)
  return job === undefined || job.kind === 'response' ? null : { id: job.id, kind: job.kind }
}

/** Stores the result and its record. */
async function finish(run: Run, request: Request, task: TaskResult): Promise<MadeVariant> {
  const made = await keepResult(run, { ...request, folder: folderOf(run, request.key) }, task)
  for (const warning of task.warnings) run.warn(`${request.instance.id}: ${warning}`)
  return { ...nothing, made, cost: task.cost, took_s: task.result.took_s }
}

/**
 * Writes down how a request ended that has no result.
 * @param resumed whether an earlier attempt may have been accepted: that this one was not says nothing of it
 * @returns how much it has certainly not created
 */
async function giveUp(
  run: Run,
  { instance, key }: Request,
  error: ModelgateError,
  resumed: boolean,
): Promise<number> {
  const { history } = run.project
  const intent = history.intents.get(key)
  if (intent === undefined) return 0
  const billed = billedOf(error)
  const mayBeThere = resumed || history.jobs.has(key)
  const isOver = isAnswered(error) || (billed === 'no' && !mayBeThere)
  // Still under way, or unknown: the next run looks at what is left, and goes on with it.
  if (!isOver) return 0
  if (billed === 'no') {
    run.budget.giveBack({ creates: intent.creates, cost: intent.cost })
    await run.record({ type: 'release', key, reason: error.message })
    return intent.creates
  }
  const { exitCode: exit_code, code, message } = error
  await run.record({ type: 'failure', instance: instance.id, key, exit_code, code, message, billed })
  return 0
}

/** @throws FileError when the bytes of another instance's result are gone */
async function filesOfReferences(
  { assessments, world }: Run,
  { references }: Assessment['instance'],
): Promise<ReadonlyMap<string, UpstreamResult>> {
  const found = new Map<string, UpstreamResult>()
  for (const reference of references) {
    const files = await upstreamFiles(reference, assessments, world)
    if (files === undefined) {
      throw new FileError('upstream_lost', `The bytes of ${reference.text} are gone.`, {
        phase: 'input',
        billed: 'no',
      })
    }
    found.set(reference.text, files)
  }
  return found
}
