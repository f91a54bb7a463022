import { extname, join } from 'node:path'
import { randomHex } from '../../context.ts'
import { amountNumber } from '../../cost/amount.ts'
import { asModelgateError, billedOf, FileError, ModelgateError, UsageError } from '../../errors.ts'
import { mediaTypeOfName } from '../../files/media-type.ts'
import { parseTemplate } from '../../files/output-plan.ts'
import { openJobs } from '../../operations/jobs.ts'
import { mismatchReasons } from '../execute/check-asserts.ts'
import { executeTask } from '../execute/execute-task.ts'
import { recoverResult, takeRescued } from '../execute/task-record.ts'
import { startedJobs, type ExecuteCall, type Task } from '../execute/task.ts'
import type { Result } from '../lock/lock-block.ts'
import type { Instance } from '../manifest/manifest.ts'
import {
  buildRequest,
  creationOf,
  refuseChanged,
  type TaskRequest,
  type UpstreamResult,
} from '../manifest/request-body.ts'
import { possiblePaths } from '../manifest/output-paths.ts'
import { filesOf, upstreamOf } from '../plan/result-files.ts'
import type { Assessment, Variant } from '../plan/project-state.ts'
import { isAnswered } from '../schedule/circuit.ts'
import { checkPlace } from '../store/place-output.ts'
import type { TaskResult } from '../store/results.ts'
import type { Executor, MadeResult, MadeVariant, Request, Run, RunCall } from './run-call.ts'

/** Makes a candidate, or resumes it. Never throws: each instance tells its own failure. */
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

/**
 * Makes a request, or resumes it, here or by a worker, and stores the result and its record: its intent is in the journal
 * before it is sent. Thousands may wait here for their turn: what is needed only then is made only then.
 */
async function make(
  run: Run,
  { instance }: Assessment,
  { key, number: variant }: Variant,
): Promise<MadeVariant> {
  const request = { instance, key, variant }
  const { manifest, history } = run.project
  for (const path of possiblePaths(instance, run.project.now).flat()) checkPlace(manifest.project, path)
  const isStarted = () => history.isStarted(key)
  // What has been started already goes first: its result may expire.
  const order = { priority: run.priorities.get(instance.id) ?? 0, isFollowUp: isStarted() }
  let created = 0
  // By an attempt whose outcome is unknown, of this process or an earlier one.
  let mayBeBilled = history.intents.has(key) && !isStarted() && !isKnown(run, key)
  let isMade = false
  try {
    const task = await run.lanes.run(instance.lane, order, async (attempt) => {
      const upstream = await filesOfReferences(run, instance)
      // What an earlier process has lost is another request now: it may be paid for twice, so it counts twice.
      const isOpen = history.intents.has(key)
      const isLost = isOpen && !isStarted() && !run.project.isSentAgain && !isKnown(run, key)
      if (isLost) await run.record({ type: 'discard', key })
      const resumed = history.intents.has(key)
      if (!resumed) created += await beginRequest(run, request)
      else if (isOfOther(run, key)) await recordIntent(run, request, history.intents.get(key)!.idempotencyKey)
      const { id, lane } = instance
      run.emit({ type: 'instance-start', instance: id, lane, variant, attempt, resumed })
      const own: Task = {
        ...request,
        folder: run.project.results.folder(key),
        idempotencyKey: history.intents.get(key)?.idempotencyKey ?? '',
        creation: creationOf(instance),
        request: () => requestOf(run, instance, upstream, { isSent: isStarted() }),
        job: history.jobs.get(key) ?? null,
        made: madeBefore(run, key),
        onMade: (made) => run.record({ type: 'made', key, made }),
        onJob: (jobId, kind) => run.record({ type: 'job', key, id: jobId, kind }),
        onProgress: ({ state, percent }) =>
          run.emit({ type: 'instance-progress', instance: id, variant, state, percent }),
      }
      try {
        return await attemptTask(run, own, instance)
      } catch (thrown) {
        const error = realError(asModelgateError(thrown, false))
        const isTold = resumed && isKnown(run, key)
        // An answer to the same key is one to every attempt.
        if (isAnswered(error) && run.project.isSentAgain) mayBeBilled = false
        else mayBeBilled ||= billedOf(error) !== 'no'
        run.emit({ type: 'instance-progress', instance: id, variant, state: 'waiting', percent: null })
        // Before it waits to be sent again: a run that is killed meanwhile must not leave it in doubt.
        created -= await giveUp(run, request, error, resumed && !isTold)
        throw thrown
      } finally {
        order.isFollowUp = isStarted()
      }
    })
    isMade = true
    const first = firstPictures(run, instance, task)
    const idempotencyKey = history.intents.get(key)?.idempotencyKey
    const made = await keepResult(run, request, first)
    if (idempotencyKey !== undefined) run.executor.forget(idempotencyKey)
    const names = nameWarnings(instance, first.result.outputs)
    for (const warning of [...first.warnings, ...names]) run.warn(`${instance.id}: ${warning}`)
    return { made, error: null, created, cost: first.cost, took_s: first.result.took_s }
  } catch (thrown) {
    const error = realError(asModelgateError(thrown, false))
    // The look-up that failed bills nothing; what it looked for is made, or being made.
    const earlier = isMade || isStarted() ? 'yes' : mayBeBilled ? 'maybe' : 'no'
    const told = billedOf(error) === 'no' ? error.amend({ billed: earlier }) : error
    return { ...nothing, error: told, created }
  }
}

/** Of the pictures of an answer, those that `out` has names for: with `{index}` all of them, else the first. */
function firstPictures(
  run: Run,
  { id, command, lane, output, count }: Instance,
  task: TaskResult,
): TaskResult {
  const { outputs } = task.result
  const takesAll = command !== 'generate' || lane !== 'image' || parseTemplate(output).tokens.has('index')
  if (takesAll || outputs.length <= count) return task
  run.warn(`${id}: The answer has ${outputs.length} pictures; \`out\` without {index} takes the first.`)
  return { ...task, result: { ...task.result, outputs: outputs.slice(0, count) } }
}

/** Whether the queue tells what became of an intent of an earlier process. */
function isKnown({ project }: Run, key: string): boolean {
  return project.inQueue.has(key)
}

/** Whether an intent was begun without the queue of this run: the next process asks that. */
function isOfOther({ executor, project }: Run, key: string): boolean {
  return executor.queue !== null && project.history.intents.get(key)!.queue !== executor.queue.identity
}

/**
 * Counts the request, and has its intent on disk before it is sent.
 * @returns how much it creates
 */
async function beginRequest(run: Run, request: Request): Promise<number> {
  const { instance } = request
  const { count: creates } = creationOf(instance)
  const cost = run.costs(instance)?.amount ?? null
  try {
    run.budget.take(instance.id, { creates, cost })
  } catch (error) {
    if (error instanceof ModelgateError && error.exit === 'limit') run.endBudget(error)
    throw error
  }
  try {
    // What lies in the folder of the key from now on is of this request.
    await run.project.results.putAside(request.key)
    await recordIntent(run, request, randomHex(run.call.context.clock, 32))
  } catch (error) {
    // Then it is not sent.
    run.budget.giveBack({ creates, cost })
    throw error instanceof ModelgateError ? error.amend({ billed: 'no' }) : error
  }
  return creates
}

async function recordIntent(
  run: Run,
  { instance, key, variant }: Request,
  idempotencyKey: string,
): Promise<void> {
  const { queue } = run.executor
  const cost = run.costs(instance)?.amount ?? null
  await run.record({
    type: 'intent',
    instance: instance.id,
    key,
    variant,
    idempotency_key: idempotencyKey,
    creates: creationOf(instance).count,
    cost: cost === null ? null : amountNumber(cost),
    ...(queue === null ? {} : { queue: queue.identity, queue_at: queue.shown }),
  })
}

/** One attempt. What may be tried again although its outcome is unknown becomes an error that the lanes try again. */
async function attemptTask(run: Run, task: Task, { onUnknown }: Instance): Promise<TaskResult> {
  try {
    return await run.executor.attempt(task)
  } catch (error) {
    if (!(error instanceof ModelgateError) || error.exit !== 'unknown') throw error
    if (error.facts.shouldRetry === false) throw error
    const again = error.amend({ exit: 'later', billed: 'no', cause: error })
    if (run.project.isSentAgain) throw again
    // A gateway's `x-should-retry: true` is not enough: each repetition may cost again.
    if (onUnknown === 'stop') throw error
    // It may be paid for twice, so it counts twice.
    await run.record({ type: 'discard', key: task.key })
    throw again
  }
}

function realError(error: ModelgateError): ModelgateError {
  const { cause } = error.facts
  return cause instanceof ModelgateError && cause.exit === 'unknown' ? cause : error
}

function madeBefore({ project, executor }: Run, key: string): Task['made'] {
  const made = project.history.made.get(key) ?? null
  const { origin } = executor
  if (made === null || project.manifest.project.isSandbox || made.origin === origin) return made
  throw new UsageError(
    `It was made on ${made.origin}, and is to be fetched with that gateway, not ${origin}.`,
    {
      code: 'other_gateway',
      hint: `Run it with the --base-url, or the --profile, of ${made.origin}; or make it again: --regenerate.`,
    },
  )
}

/**
 * Writes down how an attempt has failed, if it is over.
 * @param resumed whether an earlier attempt may have been accepted: that this one was not says nothing of it
 * @returns how much it has certainly not created, and so is not counted
 */
async function giveUp(
  run: Run,
  { instance, key }: Request,
  error: ModelgateError,
  resumed: boolean,
): Promise<number> {
  const { history } = run.project
  const intent = history.intents.get(key)
  const billed = billedOf(error)
  const isOver = isAnswered(error) || (billed === 'no' && !resumed && !history.isStarted(key))
  // Still under way, or unknown: the next run looks at what is left, and goes on with it.
  if (intent === undefined || !isOver) return 0
  const { exitCode: exit_code, code, message } = error
  if (billed === 'no') {
    await run.record({ type: 'release', key, reason: message })
    run.budget.giveBack(intent)
  } else {
    await run.record({ type: 'failure', instance: instance.id, key, exit_code, code, message, billed })
  }
  run.executor.forget(intent.idempotencyKey)
  return billed === 'no' ? intent.creates : 0
}

/** What the references of an instance stand for, by their texts. */
async function filesOfReferences(
  { assessments, project }: Run,
  { references }: Instance,
): Promise<ReadonlyMap<string, UpstreamResult>> {
  const found = new Map<string, UpstreamResult>()
  for (const reference of references) {
    const files = await filesOf(await upstreamOf(reference, assessments, project), project)
    if (files === undefined) {
      throw new FileError('result_lost', `The bytes of ${reference.text} are gone.`, {
        phase: 'input',
        billed: 'no',
      })
    }
    found.set(reference.text, files)
  }
  return found
}

/**
 * Builds the request of an instance. What is to be sent is of files that still are what its key was computed of.
 * @param upstream what its references stand for
 */
async function requestOf(
  { project: { manifest, files, inputDigest }, stop }: Run,
  instance: Instance,
  upstream: ReadonlyMap<string, UpstreamResult>,
  { isSent }: { readonly isSent: boolean },
): Promise<TaskRequest> {
  const { folder } = manifest.project
  if (!isSent) await refuseChanged(instance, folder, inputDigest)
  return await buildRequest({ ...files, signal: stop.signal }, instance, { folder, upstream })
}

type Keeping = Pick<Run, 'project' | 'lock' | 'record'>

/** Records a result that lies in the folder of its key: when this resolves, a process that is killed loses nothing. */
async function keepResult(
  run: Keeping,
  { instance, key, variant }: Request,
  task: TaskResult,
): Promise<MadeResult> {
  const { project } = run
  const folder = project.results.folder(key)
  const outputs = task.result.outputs.map((facts) => ({ path: join(folder, facts.path), facts }))
  const reasons = [
    ...(await mismatchReasons(instance, outputs)),
    ...(await project.checkAsserts(instance, outputs, (sha256) => ownerOf(run, instance, sha256))),
  ]
  await project.results.keep({ ...task, key, variant, instance: instance.id })
  const recorded = { instance: instance.id, key, variant, rejected: reasons.length === 0 ? null : reasons }
  await run.record({ type: 'result', ...recorded })
  return { ...recorded, result: project.results.located(key, task.result) }
}

function ownerOf({ lock: { lock }, project }: Keeping, { id }: Instance, sha256: string): string | undefined {
  const { instances } = project.manifest
  for (const [other, { outputs }] of lock) {
    const isSame = other !== id && outputs.some((facts) => facts.sha256 === sha256)
    if (isSame && instances.has(other)) return other
  }
  return undefined
}

/** What the name of an output promises, and the result is not, each a sentence. */
export function nameWarnings({ lane, output, fields }: Instance, outputs: Result['outputs']): string[] {
  // The words of a model can be called anything, and a format that was asked for is compared anyway.
  const promised =
    lane === 'text' || fields['output_format'] !== undefined ? undefined : mediaTypeOfName(extname(output))
  const other = outputs.find(({ media_type: mediaType }) => mediaType !== promised)
  if (promised === undefined || other === undefined) return []
  return [`${output} is ${other.media_type}, although its name says ${promised}.`]
}

/**
 * Takes up what a process has left that died between a reply and its journal: the results that are whole in their folders,
 * and the remote jobs that are on record under the idempotency key of their request.
 */
export async function takeUpReplies(
  keeping: Keeping,
  { context, redactor, rescueFolder }: Pick<RunCall, 'context' | 'redactor' | 'rescueFolder'>,
): Promise<void> {
  const { history, manifest } = keeping.project
  const open = [...history.intents.values()].filter(({ key }) => !history.isStarted(key))
  if (open.length === 0) return
  const started = await startedJobs(context, manifest.project, redactor)
  for (const { key, variant, instance: id, idempotencyKey } of open) {
    const job = started.get(idempotencyKey)
    if (job !== undefined) {
      await keeping.record({ type: 'job', key, ...job })
      continue
    }
    const instance = manifest.instances.get(id)
    if (instance === undefined) continue
    const request = { instance, key, variant, folder: keeping.project.results.folder(key) }
    const left =
      (await recoverResult(context, request)) ?? (await takeRescued(context, request, rescueFolder))
    if (left !== undefined) await keepResult(keeping, request, left)
  }
}

export class LocalExecutor implements Executor {
  readonly queue = null
  #execute!: ExecuteCall
  #inFlight = 0

  get origin(): string {
    return this.#execute.gateway.baseUrl.origin
  }

  async open({ call, stop, project, options: { timeoutS } }: Run): Promise<void> {
    const shared = await call.connect()
    this.#execute = {
      ...shared,
      gateway: { ...shared.gateway, signal: stop.signal },
      context: { ...call.context, signal: stop.signal },
      project: project.manifest.project,
      redactor: call.redactor,
      jobs: openJobs(call.context, project.manifest.project.stateFolder, call.redactor),
      rescueFolder: call.rescueFolder,
      timeoutMs: timeoutS === undefined ? undefined : timeoutS * 1000,
    }
  }

  async attempt(task: Task): Promise<TaskResult> {
    this.#inFlight++
    return await executeTask(this.#execute, task).finally(() => this.#inFlight--)
  }

  /** What is under way goes on. */
  stop(): number {
    return this.#inFlight
  }

  forget(): void {}

  async close(): Promise<void> {}
}
