import { QueueEvents } from 'bullmq'
import type { Clock, Timer } from '../../context.ts'
import { FileError, ModelgateError } from '../../errors.ts'
import { nextCommand } from '../../files/next-command.ts'
import { prepareFolder, recordResult } from '../execute/execute-task.ts'
import type { Task, TaskResult } from '../execute/task.ts'
import type { History } from '../journal/history.ts'
import { timeOf } from '../journal/journal.ts'
import type { Lane } from '../manifest/manifest.ts'
import { encodeTask } from '../queue/message.ts'
import { isAnswer, resultFrom } from '../queue/outcome.ts'
import {
  keptS,
  stateOf,
  withdrawn,
  type TaskData,
  type TaskJob,
  type TaskState,
} from '../queue/queue-server.ts'
import { deadlinePassed } from '../schedule/lanes.ts'
import { leftToWorkers } from './describe.ts'
import type { Executor, OpenQueue, Run } from './run-call.ts'

/** Messages may be lost: what is waited for is looked at so often, in milliseconds. */
const lookMs = 3_000
/** A run waits so long for a server that is away, as while it is replaced, in milliseconds. */
const outageMs = 120_000
/** No worker has begun anything for so long: there may be none. In milliseconds. */
const idleMs = 10_000
/** The least urgent priority that BullMQ has; 1 is the most urgent. */
const lowestPriority = 2 ** 21 - 1

const jobId = (idempotencyKey: string) => `task-${idempotencyKey}`

interface Wait {
  readonly task: Task
  /** Has it looked at at once. */
  wake(): void
  /** After the run has been stopped: resolves with whether a worker has it. */
  readonly isUnderWay: Promise<boolean>
}

/** Has each attempt made by a worker of a queue. */
export class RemoteExecutor implements Executor {
  readonly queue: { readonly identity: string; readonly shown: string }
  readonly origin: string
  readonly #open: OpenQueue
  readonly #clock: Clock
  readonly #workerWords: readonly string[]
  /** Keys of requests that the queue tells more of. */
  readonly #inQueue: Set<string>
  readonly #events = new Map<Lane, QueueEvents>()
  readonly #waits = new Map<string, Wait>()
  /** What has been put into the store, by its digest: each file once in a run. */
  readonly #stored = new Map<string, Promise<void>>()
  /** Attempts that have ended in this process, by their jobs: they can be forgotten, or made once more. */
  readonly #ended = new Map<string, { readonly lane: Lane; readonly attempt: string }>()
  readonly #forgetting = new Set<Promise<void>>()
  #run: Run | undefined
  #deadline = Infinity
  #stopped: { readonly reason: unknown } | undefined
  #hasWorkers = false
  #idle: Timer | undefined

  constructor(queue: OpenQueue, clock: Clock, workerWords: readonly string[], inQueue: Set<string>) {
    this.queue = { identity: queue.server.identity, shown: queue.server.url.shown }
    this.origin = queue.server.gateway.origin
    this.#open = queue
    this.#clock = clock
    this.#workerWords = workerWords
    this.#inQueue = inQueue
  }

  async open(run: Run): Promise<void> {
    this.#run = run
    const { timeoutS } = run.options
    if (timeoutS !== undefined) this.#deadline = this.#clock.monotonic() + timeoutS * 1000
    await this.#ask(() => this.#open.server.removeOldMarks())
    run.stop.signal.addEventListener('abort', () => this.#wakeAll(), { once: true })
    const tell = () => {
      if (this.#hasWorkers || this.#waits.size === 0) return
      run.warn(`No worker has started it yet. Start one: ${nextCommand(this.#workerWords).toString()}`)
    }
    this.#idle = this.#clock.timer(idleMs, tell, 'background')
  }

  /**
   * Gives a task to the queue, unless it has it from an earlier process, and waits for what comes of it. First its files are
   * in the shared store; its intent is in the journal already. A process that is killed anywhere between goes on with the
   * same steps.
   */
  async attempt(task: Task, priority: number): Promise<TaskResult> {
    const { lane } = task.instance
    const id = jobId(task.idempotencyKey)
    this.#follow(lane)
    // What has only now got its intent is not there.
    const isContinued = task.job !== null || task.made !== null
    const mayBeThere = isContinued || this.#inQueue.has(task.key) || this.#ended.has(id)
    let found = mayBeThere ? await this.#find(lane, id) : undefined
    const isOver = found !== undefined && found.finishedOn !== undefined
    if (found !== undefined && (this.#ended.has(id) || (isOver && !this.#isTold(found, task)))) {
      await this.#remove(lane, id, stateOf(found).attempt)
      found = undefined
    }
    if (found === undefined) await this.#submit(task, id, priority)
    this.#inQueue.add(task.key)
    if (this.#run!.options.detach) throw detached()
    return await this.#take(task, await this.#untilEnd(task, id))
  }

  /** Whether the end of a task that an earlier process has submitted tells what became of it. */
  #isTold(job: TaskJob, { key, job: known, made }: Task): boolean {
    const state = stateOf(job)
    if (state.outcome !== null && isKnown(state)) return true
    // It has become unknown since this process began, or has been started after all.
    return known === null && made === null && this.#inQueue.has(key)
  }

  async #submit(task: Task, id: string, priority: number): Promise<void> {
    const { project, journal } = this.#run!
    const message = await encodeTask(task, {
      run: journal.run,
      folder: project.manifest.project.folder,
      put: (path, sha256) => this.#storeOnce(path, sha256),
    })
    const state: TaskState = {
      attempt: this.#open.server.newId(),
      refusals: 0,
      job: task.job === null ? null : { ...task.job, since: this.#clock.now() },
      made: task.made,
      outcome: null,
    }
    const data: TaskData = { message: JSON.stringify(message), state: JSON.stringify(state) }
    const urgency = Math.min(Math.max(lowestPriority - Math.round(priority), 1), lowestPriority)
    const options = {
      jobId: id,
      // What has been paid for goes before everything that is new.
      priority: task.job === null && task.made === null ? urgency : 0,
      removeOnComplete: { age: keptS },
      removeOnFail: { age: keptS },
    }
    await this.#ask(() => this.#queueOf(task.instance.lane).add('task', data, options))
  }

  #storeOnce(path: string, sha256: string): Promise<void> {
    const known = this.#stored.get(sha256)
    if (known !== undefined) return known
    const putting = this.#open.store.put(path, sha256).catch((error: unknown) => {
      throw error instanceof ModelgateError ? error.amend({ billed: 'no', ...error.facts }) : error
    })
    this.#stored.set(sha256, putting)
    // Another one that needs it may have more luck.
    putting.catch(() => this.#stored.delete(sha256))
    return putting
  }

  /** @throws the reason of the run's end, when it does not wait any longer */
  async #untilEnd(task: Task, id: string): Promise<TaskJob> {
    const { lane } = task.instance
    const { signal } = this.#run!.stop
    let isAskedBack = false
    let news = Promise.withResolvers<void>()
    const underWay = Promise.withResolvers<boolean>()
    this.#waits.set(id, { task, wake: () => news.resolve(), isUnderWay: underWay.promise })
    let { job: known, made: knownMade } = task
    try {
      for (;;) {
        const job = await this.#find(lane, id)
        if (job === undefined) throw lostByServer(this.queue.shown)
        if (job.processedOn !== undefined) this.#hasWorkers = true
        const { job: started, made, outcome } = stateOf(job)
        if (started !== null && known === null) await task.onJob(started.id, started.kind)
        if (made !== null && knownMade === null) await task.onMade(made)
        known = started
        knownMade = made
        if (outcome !== null || job.finishedOn !== undefined) return job
        const isLate = this.#clock.monotonic() >= this.#deadline
        if ((this.#stopped !== undefined || isLate) && !isAskedBack) {
          isAskedBack = true
          if (await this.#withdraw(lane, job)) throw notSent(this.#stopped?.reason ?? deadlinePassed())
          underWay.resolve(true)
        }
        if (signal.aborted) throw goesOn(signal.reason)
        if (isLate) throw stillUnderWay()
        const waitMs = Math.min(lookMs, Math.max(0, this.#deadline - this.#clock.monotonic()))
        const timer = this.#clock.timer(waitMs, () => news.resolve())
        await news.promise
        timer.cancel()
        news = Promise.withResolvers()
      }
    } finally {
      this.#waits.delete(id)
      underWay.resolve(false)
    }
  }

  /** Wins the attempt in place of a worker, so that nobody sends it. @returns false when a worker has it */
  async #withdraw(lane: Lane, job: TaskJob): Promise<boolean> {
    const { attempt, job: started, made } = stateOf(job)
    if (started !== null || made !== null) return false
    const { server } = this.#open
    if ((await this.#ask(() => server.win(attempt, withdrawn)).catch(() => undefined)) !== withdrawn)
      return false
    await this.#remove(lane, job.id!, attempt).catch(() => {})
    return true
  }

  async #remove(lane: Lane, id: string, attempt: string): Promise<void> {
    await this.#ask(async () => {
      const isRemoved = (await this.#queueOf(lane).remove(id)) === 1
      // Only then: whoever wins the mark after this finds that the task is gone. A worker that has it in hand needs it.
      if (isRemoved) await this.#open.server.removeMark(attempt)
    })
    this.#ended.delete(id)
  }

  /** Takes what has come of a task: fetches the files of a result from the store into its folder. */
  async #take(task: Task, job: TaskJob): Promise<TaskResult> {
    const { attempt, outcome, job: started, made } = stateOf(job)
    const id = job.id!
    this.#ended.set(id, { lane: task.instance.lane, attempt })
    // Whoever started it was taken for dead, and was not.
    const isStarted = (started !== null && task.job === null) || (made !== null && task.made === null)
    if (outcome === null && isStarted) throw toLookUp()
    if (!isKnown(stateOf(job))) this.#inQueue.delete(task.key)
    if (outcome === null) throw lostWithWorker(job.returnvalue)
    const done = resultFrom(outcome, task.folder)
    const { call } = this.#run!
    await prepareFolder(call.context, { folder: task.folder, job: null, made: null })
    // First: files without it could be taken for a result of which nothing else is known.
    recordResult(task, done, call.redactor)
    for (const [at, { sha256, path }] of done.result.outputs.entries()) {
      if (!(await this.#open.store.fetch(sha256, done.files[at]!)))
        throw lostByStore(task.instance.id, `${path}, SHA-256 ${sha256}`, this.#open.store.shown)
    }
    return done
  }

  async stop(reason: unknown): Promise<number> {
    this.#stopped ??= { reason }
    this.#wakeAll()
    const waits = [...this.#waits.values()].map(({ isUnderWay }) => isUnderWay)
    return (await Promise.all(waits)).filter(Boolean).length
  }

  forget(idempotencyKey: string): void {
    const id = jobId(idempotencyKey)
    const ended = this.#ended.get(id)
    if (ended === undefined) return
    // What stays is removed after a week.
    const forgetting = this.#remove(ended.lane, id, ended.attempt).catch(() => {})
    this.#forgetting.add(forgetting)
    void forgetting.then(() => this.#forgetting.delete(forgetting))
  }

  stopText(inFlight: number, graceS: number): string {
    const subject = inFlight === 1 ? 'one request is' : `${inFlight} requests are`
    return `Stopping: ${subject} with workers, which continue; the run waits ${graceS} s for them, and the next run collects what arrives later. Another Ctrl-C ends the run at once.`
  }

  async close(): Promise<void> {
    this.#idle?.cancel()
    await Promise.all(this.#forgetting)
    // Its connections are closed with the server.
    for (const events of this.#events.values()) void events.close().catch(() => {})
  }

  #find(lane: Lane, id: string): Promise<TaskJob | undefined> {
    return this.#ask(() => this.#open.server.find(lane, id))
  }

  #queueOf(lane: Lane) {
    return this.#open.server.lane(lane)
  }

  /** Follows what happens in a lane. */
  #follow(lane: Lane): void {
    if (this.#events.has(lane)) return
    const { server } = this.#open
    const { options, factory } = server.backend
    const events = new QueueEvents(server.nameOf(lane), options, factory)
    events.on('error', () => {})
    const wake = ({ jobId: id }: { readonly jobId: string }) => this.#waits.get(id)?.wake()
    events.on('active', () => (this.#hasWorkers = true))
    events.on('completed', wake)
    events.on('failed', wake)
    // A job that has been started waits to be looked up.
    events.on('delayed', wake)
    events.on('progress', ({ jobId: id, data }) => {
      const { state, percent } = data as { readonly state: string; readonly percent: number | null }
      this.#waits.get(id)?.task.onProgress({ state, percent })
    })
    this.#events.set(lane, events)
  }

  #ask<Value>(work: () => Promise<Value>): Promise<Value> {
    return this.#open.server.ask(work, { signal: this.#run!.stop.signal, forMs: outageMs })
  }

  #wakeAll(): void {
    for (const { wake } of this.#waits.values()) wake()
  }
}

/**
 * The keys of requests that were given to this queue, and of which it tells more.
 *
 * One that it does not have was never submitted, since what it has is kept for a week after its end; of an older one
 * nothing is known any more.
 */
export async function keysInQueue(
  { server }: OpenQueue,
  { intents }: Pick<History, 'intents'>,
  laneOf: (instance: string) => Lane | undefined,
  now: number,
): Promise<Set<string>> {
  const known = new Set<string>()
  for (const { key, queue, idempotencyKey, instance, run } of intents.values()) {
    const lane = laneOf(instance)
    if (queue !== server.identity || lane === undefined) continue
    const job = await server.ask(() => server.find(lane, jobId(idempotencyKey)), { forMs: outageMs })
    const isThere =
      job === undefined
        ? now - timeOf(run) < keptS * 1000
        : job.finishedOn === undefined || isKnown(stateOf(job))
    if (isThere) known.add(key)
  }
  return known
}

/** Whether what became of a task is known, or can be found out. */
function isKnown({ outcome, job, made }: TaskState): boolean {
  if (outcome === null) return job !== null || made !== null
  return isAnswer(outcome)
}

function detached(): ModelgateError {
  return new ModelgateError('running', leftToWorkers, 'It is with the queue.', {
    phase: 'wait',
    billed: 'maybe',
  })
}

function stillUnderWay(): ModelgateError {
  return new ModelgateError(
    'running',
    'deadline',
    'The time limit for the whole run was reached (--timeout); a worker is still working on it.',
    {
      phase: 'wait',
      billed: 'maybe',
      hint: 'Run it again: it collects what has been made.',
    },
  )
}

function notSent(reason: unknown): unknown {
  return reason instanceof ModelgateError ? reason.amend({ billed: 'no' }) : reason
}

/** The run ends, and the workers go on. */
function goesOn(reason: unknown): unknown {
  return reason instanceof ModelgateError ? reason.amend({ billed: 'maybe' }) : reason
}

function lostWithWorker(worker: unknown): ModelgateError {
  const name = typeof worker === 'string' && worker !== '' ? `The worker ${worker}` : 'A worker'
  const message = `${name} died after it had sent the request: its outcome is unknown.`
  return new ModelgateError('unknown', 'worker_lost', message, { phase: 'wait', billed: 'maybe' })
}

/** A remote job whose worker was taken for dead: it is looked up by another. */
function toLookUp(): ModelgateError {
  const message = 'The worker that started the job did not answer in time; another one looks it up.'
  return new ModelgateError('later', 'worker_lost', message, { phase: 'wait', billed: 'no' })
}

function lostByServer(shown: string): ModelgateError {
  const message = `The queue at ${shown} no longer has the request: it has lost its data, or has been replaced.`
  return new ModelgateError('unknown', 'queue_lost', message, { phase: 'wait', billed: 'maybe' })
}

function lostByStore(id: string, file: string, store: string): FileError {
  return new FileError(
    'shared_file_lost',
    `The result of ${id} is not in the store ${store}, or differs from what was made: ${file}.`,
    {
      phase: 'result',
      billed: 'yes',
      hint: `When the store has it again, run it again: the queue knows the result for a week. If it is gone, generate it again with --regenerate ${id}.`,
    },
  )
}
