import { randomHex } from '../../context.ts'
import { amountNumber } from '../../cost/amount.ts'
import { asModelgateError, billedOf, ModelgateError, UsageError } from '../../errors.ts'
import { executeTask } from '../execute/execute-task.ts'
import type { Task, TaskResult } from '../execute/task.ts'
import type { ExecuteCall } from '../execute/task-run.ts'
import { creationOf } from '../manifest/instance-body.ts'
import type { Instance } from '../manifest/manifest.ts'
import { isAnswered } from '../schedule/attempt-error.ts'
import type { Lanes } from '../schedule/lanes.ts'
import type { RunBudget } from '../schedule/run-budget.ts'
import { filesOfReferences, folderOf, recordEnd, requestOf } from './request-records.ts'
import type { Attempted, Maker, Request, Run } from './run-call.ts'

/** Makes the requests of a run in this process. */
export function localMaker(lanes: Lanes, budget: RunBudget): Maker {
  let execute: ExecuteCall | undefined
  return {
    get used() {
      return budget.used
    },
    get inFlight() {
      return lanes.inFlight
    },
    async open({ call, stop, project, options }) {
      const shared = await call.connect()
      execute = {
        ...shared,
        gateway: { ...shared.gateway, signal: stop.signal },
        context: { ...call.context, signal: stop.signal },
        project: project.manifest.project,
        redactor: call.redactor,
        rescueFolder: call.rescueFolder,
        timeoutMs: options.timeoutS === undefined ? undefined : options.timeoutS * 1000,
      }
    },
    make: (run, request) => make({ run, lanes, budget, execute: execute! }, request),
    async stop(reason) {
      lanes.stop(reason)
    },
    async close() {},
    stopText(inFlight, graceS) {
      const subject = inFlight === 1 ? 'One request is' : `${inFlight} requests are`
      return `Stopping: ${subject} under way and may continue for ${graceS} s. Another Ctrl-C ends the run at once.`
    },
  }
}

interface Making {
  readonly run: Run
  readonly lanes: Lanes
  readonly budget: RunBudget
  readonly execute: ExecuteCall
}

/** Thousands may wait here for their turn: what is needed only then is made only then. */
async function make(making: Making, request: Request): Promise<Attempted> {
  const { run, lanes } = making
  const { instance, key, variant } = request
  const { history } = run.project
  /** Whether the gateway has accepted it: what is left is free. */
  const isStarted = () => history.jobs.has(key) || history.made.has(key)
  // What has been started already goes first: its result may expire.
  const order = { priority: run.priorities.get(instance.id) ?? 0, isFollowUp: isStarted() }
  let created = 0
  // By an attempt whose outcome is unknown, of this process or an earlier one.
  let mayBeBilled = history.intents.has(key) && !isStarted()
  try {
    const task = await lanes.run(instance.lane, order, async (attempt) => {
      const upstream = await filesOfReferences(run, instance)
      // What an earlier process has lost is another request now: it may be paid for twice, so it counts twice.
      const isLost = history.intents.has(key) && !isStarted() && !run.world.isSentAgain
      if (isLost) await run.record({ type: 'discard', key })
      const resumed = history.intents.has(key)
      if (!resumed) created += await beginRequest(making, request)
      const { id, lane } = instance
      run.emit({ type: 'instance-start', instance: id, lane, variant, attempt, resumed })
      const own: Task = {
        ...request,
        folder: folderOf(run, key),
        idempotencyKey: history.intents.get(key)?.idempotencyKey ?? '',
        creation: creationOf(instance),
        request: () => requestOf(run, instance, upstream, { isSent: isStarted() }),
        job: jobOf(run, key),
        made: madeBefore(making, key),
        onMade: (made) => run.record({ type: 'made', key, made }),
        onJob: (jobId, kind) => run.record({ type: 'job', key, id: jobId, kind }),
        onProgress: ({ state, percent }) =>
          run.emit({ type: 'instance-progress', instance: id, variant, state, percent }),
      }
      try {
        return await attemptTask(making, own, instance)
      } catch (thrown) {
        const error = realError(asModelgateError(thrown, false))
        // An answer to the same key is one to every attempt.
        if (isAnswered(error) && run.world.isSentAgain) mayBeBilled = false
        else mayBeBilled ||= billedOf(error) !== 'no'
        run.emit({ type: 'instance-progress', instance: id, variant, state: 'waiting', percent: null })
        // Before it waits to be sent again: a run that is killed meanwhile must not leave it in doubt.
        created -= await giveUp(making, request, error, resumed)
        throw thrown
      } finally {
        order.isFollowUp = isStarted()
      }
    })
    return { task, error: null, created }
  } catch (thrown) {
    const error = realError(asModelgateError(thrown, false))
    // The look-up that failed bills nothing; what it looked for is made, or being made.
    const earlier = isStarted() ? 'yes' : mayBeBilled ? 'maybe' : 'no'
    return { task: null, error: billedOf(error) === 'no' ? error.amend({ billed: earlier }) : error, created }
  }
}

/**
 * Counts the request, and has its intent on disk before it is sent.
 * @returns how much it creates
 * @throws ModelgateError (exit 15) when the budget is reached; FileError
 */
async function beginRequest({ run, budget }: Making, { instance, key, variant }: Request): Promise<number> {
  const { count: creates } = creationOf(instance)
  const cost = run.costs(instance)?.amount ?? null
  try {
    budget.take(instance.id, { creates, cost })
  } catch (error) {
    if (error instanceof ModelgateError && error.exit === 'limit') run.endBudget(error)
    throw error
  }
  const intent = {
    type: 'intent',
    instance: instance.id,
    key,
    variant,
    idempotency_key: randomHex(run.call.context.clock, 32),
    creates,
    cost: cost === null ? null : amountNumber(cost),
  } as const
  try {
    await run.record(intent)
  } catch (error) {
    // Then it is not sent.
    budget.giveBack({ creates, cost })
    throw error instanceof ModelgateError ? error.amend({ billed: 'no' }) : error
  }
  return creates
}

/** One attempt. What may be tried again although its outcome is unknown becomes an error that the lanes try again. */
async function attemptTask(
  { run, execute }: Making,
  task: Task,
  { onUnknown }: Instance,
): Promise<TaskResult> {
  try {
    return await executeTask(execute, task)
  } catch (error) {
    if (!(error instanceof ModelgateError) || error.exit !== 'unknown') throw error
    if (error.facts.shouldRetry === false) throw error
    const again = error.amend({ exit: 'later', billed: 'no', cause: error })
    if (run.world.isSentAgain) throw again
    // A gateway's `x-should-retry: true` is not enough: each repetition may cost again.
    if (onUnknown === 'stop') throw error
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

/** @throws UsageError for what was made on another gateway */
function madeBefore({ run: { project }, execute }: Making, key: string): Task['made'] {
  const made = project.history.made.get(key) ?? null
  const { origin } = execute.gateway.baseUrl
  if (made === null || execute.project.isSandbox || made.origin === origin) return made
  throw new UsageError(
    `It was made on ${made.origin}, and is to be fetched with that gateway, not ${origin}.`,
    {
      code: 'other_gateway',
      hint: `Run it with the --base-url, or the --profile, of ${made.origin}; or make it again: --regenerate.`,
    },
  )
}

/** Writes down how an attempt has failed. @returns how much it has certainly not created, and so is not counted */
async function giveUp(
  { run, budget }: Making,
  request: Request,
  error: ModelgateError,
  resumed: boolean,
): Promise<number> {
  const intent = run.project.history.intents.get(request.key)
  const released = await recordEnd(run, request, error, resumed)
  if (released > 0 && intent !== undefined) budget.giveBack({ creates: released, cost: intent.cost })
  return released
}
