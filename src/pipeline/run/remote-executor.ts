import { join } from 'node:path'
import type { Clock, Timer } from '../../context.ts'
import { FileError, ModelgateError, type Billed } from '../../errors.ts'
import { nextCommand } from '../../files/next-command.ts'
import { prepareFolder, recordResult } from '../execute/execute-task.ts'
import type { Task } from '../execute/task.ts'
import { timeOf } from '../journal/journal.ts'
import type { Lane } from '../manifest/manifest.ts'
import {
  encodeTask,
  isKnown,
  jobIdOf,
  resultFrom,
  stateOf,
  type TaskJob,
  type TaskState,
} from '../queue/message.ts'
import { keptS, withdrawn } from '../queue/queue-server.ts'
import { deadlinePassed } from '../schedule/lanes.ts'
import type { TaskResult } from '../store/results.ts'
import { leftToWorkers } from './describe.ts'
import type { OpenProject } from './project.ts'
import type { Executor, OpenQueue, Run } from './run-state.ts'

/** Messages may be lost: how often the run looks for itself. */
const lookMs = 3_000
/** How long a run waits for a server that is away, as while it is being replaced. */
const outageMs = 120_000
/** When no worker has begun anything for this long, there may be none. */
const idleMs = 10_000

export async function openRemote(run: Run, queue: OpenQueue): Promise<Executor> {
  const { server } = queue
  await server.ask(() => server.removeOldMarks(), { signal: run.stop.signal, forMs: outageMs })
  return new RemoteExecutor(run, queue)
}

class RemoteExecutor implements Executor {
  readonly origin: string
  readonly #run: Run
  readonly #server: OpenQueue['server']
  readonly #store: OpenQueue['store']
  readonly #clock: Clock
  readonly #inQueue: Set<string>
  readonly #followed = new Set<Lane>()
  readonly #waits = new Map<string, { readonly task: Task; wake(): void }>()
  /** Attempts that have ended in this process, by their jobs: they can be forgotten, or made once more. */
  readonly #ended = new Map<string, { readonly lane: Lane; readonly attempt: string }>()
  #forgetting = Promise.resolve()
  #stopped: { readonly reason: unknown } | undefined
  #isLate = false
  #hasWorkers = false
  readonly #timers: Timer[] = []

  constructor(run: Run, { server, store }: OpenQueue) {
    this.#run = run
    this.origin = server.gateway.origin
    this.#server = server
    this.#store = store
    this.#clock = run.call.context.clock
    this.#inQueue = run.project.inQueue
    run.stop.signal.addEventListener('abort', () => this.#wakeAll(), { once: true })
    const { timeoutS = Infinity } = run.options
    this.#after(idleMs, () => {
      if (this.#hasWorkers || this.#waits.size === 0) return
      run.warn(`No worker has started it yet. Start one: ${nextCommand(run.call.queue!.worker).toString()}`)
    })
    if (timeoutS === Infinity) return
    this.#after(timeoutS * 1000, () => {
      this.#isLate = true
      this.stop(deadlinePassed())
    })
  }

  #after(ms: number, callback: () => void): void {
    this.#timers.push(this.#clock.timer(ms, callback, 'background'))
  }

  /**
   * Gives a task to the queue, unless it has it from an earlier process, and waits for what comes of it. A process that
   * is killed anywhere between continues with the same steps.
   */
  async attempt(task: Task): Promise<TaskResult> {
    const { lane } = task.instance
    const id = jobIdOf(task.idempotencyKey)
    this.#follow(lane)
    const isStarted = task.job !== null || task.made !== null
    // What has only now got its intent is not there.
    const mayBeThere = isStarted || this.#inQueue.has(task.key) || this.#ended.has(id)
    let found = mayBeThere ? await this.#ask(() => this.#server.find(lane, id)) : undefined
    if (found !== undefined && this.#isSpent(found, task.key, isStarted)) {
      await this.#remove(lane, id, stateOf(found).attempt)
      found = undefined
    }
    if (found === undefined) await this.#submit(task, id, isStarted)
    this.#inQueue.add(task.key)
    if (this.#run.options.detach) throw waitError('running', leftToWorkers, 'It is with the queue.')
    return await this.#take(task, await this.#untilEnd(task, id))
  }

  /** Whether its end has been taken, or says less than the run knows. */
  #isSpent(job: TaskJob, key: string, isStarted: boolean): boolean {
    if (this.#ended.has(job.id!)) return true
    const state = stateOf(job)
    if (job.finishedOn === undefined || (state.outcome !== null && isKnown(state))) return false
    // It has become unknown since this process began, or has been started after all.
    return isStarted || !this.#inQueue.has(key)
  }

  async #submit(task: Task, id: string, isStarted: boolean): Promise<void> {
    const { project, journal } = this.#run
    const { folder } = project.manifest.project
    const message = await encodeTask(task, { run: journal.run, folder, store: this.#store })
    const state: TaskState = {
      attempt: this.#server.newId(),
      failures: 0,
      job: task.job === null ? null : { ...task.job, since: this.#clock.now() },
      made: task.made,
      outcome: null,
    }
    const data = { message: JSON.stringify(message), state: JSON.stringify(state) }
    // What has been paid for goes before everything that is new.
    const priority = isStarted ? 0 : 1
    const kept = { age: keptS }
    const options = { jobId: id, priority, removeOnComplete: kept, removeOnFail: kept }
    await this.#ask(() => this.#server.lane(task.instance.lane).add('task', data, options))
  }

  /** @returns the job when it has come to its end */
  async #untilEnd(task: Task, id: string): Promise<TaskJob> {
    const { lane } = task.instance
    const { signal } = this.#run.stop
    let isAskedBack = false
    let news = Promise.withResolvers<void>()
    this.#waits.set(id, { task, wake: () => news.resolve() })
    let { job: known, made: knownMade } = task
    try {
      for (;;) {
        const job = await this.#ask(() => this.#server.find(lane, id))
        if (job === undefined) {
          const { shown } = this.#server.url
          const text = `The queue at ${shown} no longer has the request: it has lost its data, or has been replaced.`
          throw waitError('unknown', 'queue_damaged', text)
        }
        if (job.processedOn !== undefined) this.#hasWorkers = true
        const { job: started, made, outcome } = stateOf(job)
        if (started !== null && known === null) await task.onJob(started.id, started.kind)
        if (made !== null && knownMade === null) await task.onMade(made)
        known = started
        knownMade = made
        if (outcome !== null || job.finishedOn !== undefined) return job
        const isLate = this.#isLate
        if (this.#stopped !== undefined && !isAskedBack) {
          isAskedBack = true
          if (await this.#withdraw(lane, job)) throw withBilled(this.#stopped.reason, 'no')
        }
        // The run ends, and the workers continue.
        if (signal.aborted) throw withBilled(signal.reason, 'maybe')
        if (isLate) {
          const text =
            'The time limit for the whole run was reached (--timeout); a worker is still working on it.'
          const hint = 'Run it again: it collects what has been made.'
          throw waitError('running', 'deadline', text, { hint })
        }
        const timer = this.#clock.timer(lookMs, () => news.resolve())
        await news.promise
        timer.cancel()
        news = Promise.withResolvers()
      }
    } finally {
      this.#waits.delete(id)
    }
  }

  /** Wins the attempt in place of a worker. @returns false when a worker has it */
  async #withdraw(lane: Lane, job: TaskJob): Promise<boolean> {
    const { attempt, job: started, made } = stateOf(job)
    if (started !== null || made !== null) return false
    const winner = await this.#ask(() => this.#server.win(attempt, withdrawn)).catch(() => undefined)
    if (winner !== withdrawn) return false
    await this.#remove(lane, job.id!, attempt).catch(() => {})
    return true
  }

  async #remove(lane: Lane, id: string, attempt: string): Promise<void> {
    await this.#ask(async () => {
      const isRemoved = (await this.#server.lane(lane).remove(id)) === 1
      // Only then: whoever wins the mark after this finds that the task is gone. A worker that has it in hand needs it.
      if (isRemoved) await this.#server.removeMark(attempt)
    })
    this.#ended.delete(id)
  }

  /** Brings the files of a result from the store into the task's folder. */
  async #take(task: Task, job: TaskJob): Promise<TaskResult> {
    const state = stateOf(job)
    const { attempt, outcome } = state
    this.#ended.set(job.id!, { lane: task.instance.lane, attempt })
    // Whoever started it was taken for dead, and was not.
    const isStarted = (state.job !== null && task.job === null) || (state.made !== null && task.made === null)
    if (outcome === null && isStarted) {
      const text = 'The worker that started the job did not answer in time; another one looks it up.'
      throw waitError('later', 'worker_lost', text, { billed: 'no' })
    }
    if (!isKnown(state)) this.#inQueue.delete(task.key)
    if (outcome === null) throw lostWithWorker(job.returnvalue)
    const done = resultFrom(outcome)
    const { context, redactor } = this.#run.call
    await prepareFolder(context, { folder: task.folder, job: null, made: null })
    // First: files without it could be taken for a result of which nothing else is known.
    recordResult(task, done, redactor)
    for (const { sha256, path } of done.result.outputs) {
      if (await this.#store.fetch(sha256, join(task.folder, path))) continue
      const { id } = task.instance
      const text = `The result of ${id} is not in the store ${this.#store.shown}, or differs from what was made: ${path}, SHA-256 ${sha256}.`
      const hint = `When the store has it again, run it again: the queue knows the result for a week. If it is gone, generate it again with --regenerate ${id}.`
      throw new FileError('result_lost', text, { phase: 'result', billed: 'yes', hint })
    }
    return done
  }

  stop(reason: unknown): void {
    this.#stopped ??= { reason }
    this.#wakeAll()
  }

  forget(idempotencyKey: string): void {
    const id = jobIdOf(idempotencyKey)
    const ended = this.#ended.get(id)
    if (ended === undefined) return
    // What stays is removed after a week.
    const gone = this.#remove(ended.lane, id, ended.attempt).catch(() => {})
    this.#forgetting = this.#forgetting.then(() => gone)
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) timer.cancel()
    await this.#forgetting
  }

  #follow(lane: Lane): void {
    if (this.#followed.has(lane)) return
    this.#followed.add(lane)
    const events = this.#server.follow(lane)
    // A job that has been started is delayed until it is looked up.
    const wake = ({ jobId }: { readonly jobId: string }) => this.#waits.get(jobId)?.wake()
    events.on('completed', wake)
    events.on('delayed', wake)
    events.on('progress', ({ jobId, data }) => {
      const { state, percent } = data as { readonly state: string; readonly percent: number | null }
      this.#waits.get(jobId)?.task.onProgress(state, percent)
    })
  }

  #ask<Value>(work: () => Promise<Value>): Promise<Value> {
    return this.#server.ask(work, { signal: this.#run.stop.signal, forMs: outageMs })
  }

  #wakeAll(): void {
    for (const { wake } of this.#waits.values()) wake()
  }
}

/**
 * The keys of requests that this queue knows. It keeps what it has for a week after its end: until then what it does not
 * have was never submitted.
 */
export async function keysInQueue({ server }: OpenQueue, { history, manifest, now }: OpenProject) {
  const known = new Set<string>()
  for (const { key, queue, idempotency_key, instance, run } of history.intents.values()) {
    const lane = manifest.instances.get(instance)?.lane
    if (queue !== server.identity || lane === undefined) continue
    const job = await server.ask(() => server.find(lane, jobIdOf(idempotency_key)), { forMs: outageMs })
    const isThere =
      job === undefined
        ? now - timeOf(run) < keptS * 1000
        : job.finishedOn === undefined || isKnown(stateOf(job))
    if (isThere) known.add(key)
  }
  return known
}

function withBilled(reason: unknown, billed: Billed): unknown {
  return reason instanceof ModelgateError ? reason.amend({ billed }) : reason
}

function waitError(...[exit, code, message, facts]: ConstructorParameters<typeof ModelgateError>) {
  return new ModelgateError(exit, code, message, { phase: 'wait', billed: 'maybe', ...facts })
}

function lostWithWorker(worker: unknown): ModelgateError {
  const text =
    typeof worker === 'string' && worker !== ''
      ? `The worker ${worker} died after it had sent the request: its outcome is unknown.`
      : 'Its worker died, or could not read what the queue holds: its outcome is unknown.'
  return waitError('unknown', 'worker_lost', text)
}
