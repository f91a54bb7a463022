import { extname, join } from 'node:path'
import { randomHex } from '../../context.ts'
import { amountNumber, amountOf } from '../../cost/amount.ts'
import { asModelgateError, billedOf, FileError, ModelgateError, UsageError } from '../../errors.ts'
import type { MadeImages } from '../../files/calls/job-record.ts'
import { mediaTypeOfName } from '../../files/media-type.ts'
import { parseTemplate } from '../../files/output-plan.ts'
import { openJobs } from '../../operations/jobs.ts'
import { mismatchReasons } from '../execute/check-asserts.ts'
import { executeTask } from '../execute/execute-task.ts'
import { recoverResult, startedJobs, takeRescued, type ExecuteCall, type Task } from '../execute/task.ts'
import type { Result } from '../lock/lock-block.ts'
import type { Instance } from '../manifest/manifest.ts'
import { buildRequest, creationOf, refuseChanged, type UpstreamResult } from '../manifest/request-body.ts'
import { possiblePaths } from '../manifest/output-paths.ts'
import { failedAsserts, foundOutputs } from '../plan/assess.ts'
import { filesOf, upstreamOf } from '../plan/result-files.ts'
import type { Assessment, Variant } from '../plan/project-state.ts'
import { isAnswered, type QueueOrder } from '../schedule/circuit.ts'
import { checkPlace } from '../store/place-output.ts'
import type { TaskResult } from '../store/results.ts'
import type { Executor, MadeVariant, Run } from './run-state.ts'

/** Never throws: each instance reports its own failure. */
export function makeVariant(run: Run, { instance }: Assessment, variant: Variant): Promise<MadeVariant> {
  const { variants } = run
  const known = variants.get(variant.key)
  // Identical keys share one request.
  if (known !== undefined) return known.then((other) => ({ ...other, created: 0, cost: null }))
  const made = new VariantRequest(run, { instance, key: variant.key, variant: variant.number }).make()
  variants.set(variant.key, made)
  return made
}

interface Request extends Pick<Task, 'key' | 'variant'> {
  readonly instance: Instance
}

/** One candidate, with all attempts. Thousands may wait: what is needed only in their turn is made only then. */
class VariantRequest implements QueueOrder {
  readonly priority: number
  readonly #run: Run
  readonly #request: Request
  #created = 0
  /** By an attempt whose outcome is unknown, of this process or an earlier one. */
  #mayBeBilled: boolean

  constructor(run: Run, request: Request) {
    this.#run = run
    this.#request = request
    this.priority = run.priorities.get(request.instance.id) ?? 0
    this.#mayBeBilled = this.#mayBeLost
  }

  /** What has been started already goes first: its result may expire. */
  get isFollowUp(): boolean {
    return this.#run.project.history.isStarted(this.#request.key)
  }

  /** A gateway's `x-should-retry: true` is not enough: each repetition may cost again. */
  get repeatsUnknown(): boolean {
    return this.#run.project.isSentAgain || this.#request.instance.onUnknown === 'retry'
  }

  get #intent() {
    return this.#run.project.history.intents.get(this.#request.key)
  }

  /** Whether it may have been sent before, and nobody knows what became of it: neither the journal nor the queue. */
  get #mayBeLost(): boolean {
    const isKnown = this.isFollowUp || this.#run.project.inQueue.has(this.#request.key)
    return this.#intent !== undefined && !isKnown
  }

  async make(): Promise<MadeVariant> {
    const run = this.#run
    const { instance } = this.#request
    let isMade = false
    try {
      const { manifest, now } = run.project
      for (const path of possiblePaths(instance, now).flat()) checkPlace(manifest.project, path)
      const task = await run.lanes.run(instance.lane, this, (attempt) => this.#attempt(attempt))
      isMade = true
      const first = firstPictures(run, instance, task)
      const idempotencyKey = this.#intent?.idempotency_key
      const kept = await keepResult(run, this.#request, first)
      if (idempotencyKey !== undefined) run.executor?.forget?.(idempotencyKey)
      const names = nameWarnings(instance, first.result.outputs)
      for (const warning of [...first.warnings, ...names]) run.warn(`${instance.id}: ${warning}`)
      return { ...kept, error: null, created: this.#created, cost: first.cost }
    } catch (thrown) {
      const error = asModelgateError(thrown, false)
      // The look-up that failed bills nothing; what it looked for is made, or being made.
      const earlier = isMade || this.isFollowUp ? 'yes' : this.#mayBeBilled ? 'maybe' : 'no'
      const told = billedOf(error) === 'no' ? error.amend({ billed: earlier }) : error
      return { result: null, isRejected: false, error: told, created: this.#created, cost: null }
    }
  }

  async #attempt(attempt: number): Promise<TaskResult> {
    const run = this.#run
    const { queue, stop } = run
    const { key, variant, instance } = this.#request
    const { history, results, files, manifest, inputDigest, inQueue, isSentAgain } = run.project
    const upstream = await upstreamFiles(run, instance)
    // What an earlier process has lost is another request now, which counts again.
    if (this.#mayBeLost && !isSentAgain) await run.record({ type: 'discard', key })
    const before = this.#intent
    const resumed = before !== undefined
    if (!resumed) await this.#begin()
    // The next process asks the queue that it is given to now.
    else if (queue !== undefined && before.queue !== queue.server.identity)
      await this.#recordIntent(before.idempotency_key)
    const { id, lane } = instance
    run.emit({ type: 'instance-start', instance: id, lane, variant, attempt, resumed })
    const { folder } = manifest.project
    const task: Task = {
      ...this.#request,
      folder: results.folder(key),
      idempotencyKey: this.#intent?.idempotency_key ?? '',
      creation: creationOf(instance),
      request: async () => {
        // What is sent is of files that still are what its key was computed of.
        if (!this.isFollowUp) await refuseChanged(instance, folder, inputDigest)
        return await buildRequest({ ...files, signal: stop.signal }, instance, { folder, upstream })
      },
      job: history.jobs.get(key) ?? null,
      made: this.#madeBefore(),
      onMade: (made) => run.record({ type: 'made', key, made }),
      onJob: (jobId, kind) => run.record({ type: 'job', key, id: jobId, kind }),
      onProgress: (state, percent) =>
        run.emit({ type: 'instance-progress', instance: id, variant, state, percent }),
    }
    try {
      return await run.executor!.attempt(task)
    } catch (thrown) {
      const error = asModelgateError(thrown, false)
      // It may be paid for twice, so it counts twice.
      const isAnother = error.exit === 'unknown' && this.repeatsUnknown && !isSentAgain
      if (isAnother && error.facts.shouldRetry !== false) await run.record({ type: 'discard', key })
      // An answer to the same key is one to every attempt.
      if (isAnswered(error) && isSentAgain) this.#mayBeBilled = false
      else this.#mayBeBilled ||= billedOf(error) !== 'no'
      task.onProgress('waiting', null)
      // Before it waits to be sent again: a run that is killed meanwhile must not leave it in doubt.
      // What was in the queue may have been lost there, too, and keeps its key.
      await this.#giveUp(error, resumed && (isSentAgain || !inQueue.has(key)))
      throw thrown
    }
  }

  /** Counts the request; its intent is on disk when it resolves. */
  async #begin(): Promise<void> {
    const run = this.#run
    const { key, instance } = this.#request
    const spending = run.spendingOf(instance)
    try {
      run.budget.take(instance.id, spending)
    } catch (error) {
      if (error instanceof ModelgateError && error.exit === 'limit') run.endBudget(error)
      throw error
    }
    try {
      // From now on, what is in the folder of the key belongs to this request.
      await run.project.results.putAside(key)
      await this.#recordIntent(randomHex(run.call.context.clock, 32))
    } catch (error) {
      // Then it is not sent.
      run.budget.giveBack(spending)
      throw error instanceof ModelgateError ? error.amend({ billed: 'no' }) : error
    }
    this.#created += spending.creates
  }

  async #recordIntent(idempotencyKey: string): Promise<void> {
    const { instance, key, variant } = this.#request
    const { queue } = this.#run
    const { creates, cost } = this.#run.spendingOf(instance)
    await this.#run.record({
      type: 'intent',
      instance: instance.id,
      key,
      variant,
      idempotency_key: idempotencyKey,
      creates,
      cost: cost === null ? null : amountNumber(cost),
      ...(queue && { queue: queue.server.identity, queue_at: queue.server.url.shown }),
    })
  }

  /** What an attempt has certainly not created is not counted. @param mayBeSent an earlier one may have been accepted */
  async #giveUp(error: ModelgateError, mayBeSent: boolean): Promise<void> {
    const run = this.#run
    const { key, instance } = this.#request
    const intent = this.#intent
    const billed = billedOf(error)
    const isOver = isAnswered(error) || (billed === 'no' && !mayBeSent && !this.isFollowUp)
    // Still under way, or unknown: the next run looks at what is left, and continues it.
    if (intent === undefined || !isOver) return
    const { exitCode: exit_code, code, message } = error
    if (billed === 'no') {
      await run.record({ type: 'release', key, reason: message })
      run.budget.giveBack({ creates: intent.creates, cost: amountOf(intent.cost ?? 0) })
      this.#created -= intent.creates
    } else {
      await run.record({ type: 'failure', instance: instance.id, key, exit_code, code, message, billed })
    }
    run.executor?.forget?.(intent.idempotency_key)
  }

  #madeBefore(): MadeImages | null {
    const { project, executor } = this.#run
    const made = project.history.made.get(this.#request.key) ?? null
    const { origin } = executor!
    if (made === null || project.manifest.project.isSandbox || made.origin === origin) return made
    const message = `It was made on ${made.origin}, and is to be fetched with that gateway, not ${origin}.`
    const hint = `Run it with the --base-url, or the --profile, of ${made.origin}; or make it again: --regenerate.`
    throw new UsageError(message, { code: 'other_gateway', hint })
  }
}

async function upstreamFiles({ assessments, project }: Run, { references }: Instance) {
  const found = new Map<string, UpstreamResult>()
  for (const reference of references) {
    const files = await filesOf(await upstreamOf(reference, assessments, project), project)
    if (files === undefined) {
      const message = `The bytes of ${reference.text} are gone.`
      throw new FileError('result_lost', message, { phase: 'input', billed: 'no' })
    }
    found.set(reference.text, files)
  }
  return found
}

/** `out` has names for all pictures of an answer, with `{index}`, or for the first. */
function firstPictures(run: Run, instance: Instance, task: TaskResult): TaskResult {
  const { id, command, lane, output, count } = instance
  const { outputs } = task.result
  const takesAll = command !== 'generate' || lane !== 'image' || parseTemplate(output).tokens.has('index')
  if (takesAll || outputs.length <= count) return task
  run.warn(`${id}: The answer has ${outputs.length} pictures; \`out\` without {index} takes the first.`)
  return { ...task, result: { ...task.result, outputs: outputs.slice(0, count) } }
}

/** When this resolves, a process that is killed loses nothing. */
async function keepResult(run: Run, { instance, key, variant }: Request, task: TaskResult) {
  const { results } = run.project
  const { outputs } = task.result
  const files = outputs.map(({ path }) => join(results.folder(key), path))
  // What has been locked since the plan counts, too.
  const project = run.project.with({ lock: run.lock.lock })
  const reasons = [
    ...(await mismatchReasons(instance, foundOutputs(outputs, files))),
    ...(await failedAsserts(instance, outputs, files, project)),
  ]
  await results.keep({ ...task, key, variant, instance: instance.id })
  const isRejected = reasons.length > 0
  const rejected = isRejected ? reasons : null
  await run.record({ type: 'result', instance: instance.id, key, variant, rejected })
  return { result: results.located(key, task.result), isRejected }
}

/** What the name of an output promises, and the result is not. */
export function nameWarnings({ lane, output, fields }: Instance, outputs: Result['outputs']): string[] {
  // The words of a model can be called anything, and a format that was asked for is compared anyway.
  const promised =
    lane === 'text' || fields['output_format'] !== undefined ? undefined : mediaTypeOfName(extname(output))
  const other = outputs.find(({ media_type: mediaType }) => mediaType !== promised)
  if (promised === undefined || other === undefined) return []
  return [`${output} is ${other.media_type}, although its name says ${promised}.`]
}

/** Of a process that died between a reply and its journal: whole results, and remote jobs by their idempotency keys. */
export async function takeUpReplies(run: Run): Promise<void> {
  const { context, redactor, rescueFolder } = run.call
  const { history, manifest, results } = run.project
  const open = [...history.intents.values()].filter(({ key }) => !history.isStarted(key))
  if (open.length === 0) return
  const started = await startedJobs(context, manifest.project, redactor)
  for (const { key, variant, instance: id, idempotency_key } of open) {
    const job = started.get(idempotency_key)
    if (job !== undefined) {
      await run.record({ type: 'job', key, ...job })
      continue
    }
    const instance = manifest.instances.get(id)
    if (instance === undefined) continue
    const request = { instance, key, variant, folder: results.folder(key) }
    const left =
      (await recoverResult(context, request)) ?? (await takeRescued(context, request, rescueFolder))
    if (left !== undefined) await keepResult(run, request, left)
  }
}

/** This process makes the attempts. @throws ModelgateError (exit 2, 3) */
export async function openLocal({ call, stop, project, options }: Run): Promise<Executor> {
  const { context, redactor } = call
  const { signal } = stop
  const { project: places } = project.manifest
  const { gateway, newSpending } = await call.connect()
  const execute: ExecuteCall = {
    ...call,
    gateway: { ...gateway, signal },
    newSpending,
    context: { ...context, signal },
    project: places,
    jobs: openJobs(context, places.stateFolder, redactor),
    timeoutMs: options.timeoutS === undefined ? undefined : options.timeoutS * 1000,
  }
  return { origin: gateway.baseUrl.origin, attempt: (task) => executeTask(execute, task) }
}
