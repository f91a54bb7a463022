import { mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { isFinal } from '../../../contract/video-state.ts'
import { asModelgateError, billedOf, ModelgateError, type ExitName } from '../../../errors.ts'
import type { OutputEvent } from '../../../events/documents.ts'
import { writing } from '../../../files/file-error.ts'
import type { JobReport } from '../../../gateway/videos/read-job.ts'
import { appearanceWait, lookUpJob } from '../../../gateway/videos/job-requests.ts'
import { lookUpFailures, mayPass, pollWaitAfter } from '../../../gateway/videos/wait-for-job.ts'
import { executeTask, startJob } from '../../execute/execute-task.ts'
import { recoverResult, type ExecuteCall, type StartedJob, type Task } from '../../execute/task.ts'
import type { TaskRequest } from '../../manifest/request-body.ts'
import type { Lane } from '../../manifest/manifest.ts'
import { isRateLimit, rateLimitPause } from '../../schedule/circuit.ts'
import type { TaskResult } from '../../store/results.ts'
import {
  decodeTask,
  errorOutcome,
  placeRequest,
  resultOutcome,
  stateOf,
  taskOf,
  type TaskJob,
  type TaskMessage,
  type TaskState,
} from '../message.ts'
import { patiently, withdrawn, type Handled } from '../queue-server.ts'
import { keepFiles, projectIn, removeFolder, workIn, type Worker } from './worker-call.ts'

type TaskEnd = Extract<OutputEvent, { readonly type: 'task-end' }>

/** Another delivery of the task is in progress here, or the store is away. */
const busyMs = 5_000
/** A message of another version is for another worker. */
const refusedMs = 60_000

const over: Handled = { kind: 'over' }
const again = (inMs: number): Handled => ({ kind: 'again', inMs })
/** For the next process, which has a minute to report its files. */
const leftHere: Handled = { kind: 'again', inMs: 60_000 }

/**
 * Each delivery is one attempt to send a task, or one look-up of its remote job. It never throws: what fails here is
 * tried again later, here or elsewhere.
 */
export function createDeliveryHandler(worker: Worker, lane: Lane) {
  const { closing } = worker
  const inProgress = new Set<string>()
  return async (job: TaskJob, id: string): Promise<Handled> => {
    if (closing.aborted) return again(0)
    if (inProgress.has(job.id!)) return again(busyMs)
    inProgress.add(job.id!)
    try {
      return await new Delivery(worker, lane, job).handle(id)
    } catch (thrown) {
      if (closing.aborted) return again(0)
      const error = asModelgateError(thrown, false)
      // The run reports what nobody can read.
      if (error.code === 'queue_damaged') return over
      if (error.code === 'other_version') {
        worker.warn(error.message)
        return again(refusedMs)
      }
      worker.end(error)
      return again(0)
    } finally {
      inProgress.delete(job.id!)
    }
  }
}

export class Delivery {
  readonly #worker: Worker
  readonly #lane: Lane
  readonly #job: TaskJob
  readonly #message: TaskMessage
  readonly #folder: string
  readonly #made: string
  #state: TaskState
  #isUnwritten = false

  constructor(worker: Worker, lane: Lane, job: TaskJob, ownFolder = worker.ownFolder) {
    this.#worker = worker
    this.#lane = lane
    this.#job = job
    this.#state = stateOf(job)
    this.#message = decodeTask(job.data.message)
    this.#folder = join(workIn(ownFolder), `${lane}.${job.id!}.${this.#state.attempt}`)
    this.#made = join(this.#folder, 'made')
  }

  async handle(id: string): Promise<Handled> {
    const { outcome, job } = this.#state
    // Its worker has reported, and died before it could end the delivery.
    if (outcome !== null) return over
    const report = job === null ? undefined : await this.#lookUp(job)
    if (report !== undefined && !('state' in report)) return report
    let handled: Handled = over
    try {
      handled = await this.#send(id, report)
      return handled
    } finally {
      if (handled !== leftHere) removeFolder(this.#folder)
    }
  }

  /**
   * Reports what a dead worker has left of an attempt. @param name of its folder @param jobs by idempotency keys
   * @returns false when this worker has ended before
   */
  async recover(name: string, jobs: ReadonlyMap<string, StartedJob>): Promise<boolean> {
    const { outcome, job } = this.#state
    if (name !== basename(this.#folder) || outcome !== null) return true
    const task = { ...taskOf(this.#message, {}), folder: this.#made }
    const left = await recoverResult(this.#worker.context, task)
    if (left !== undefined) {
      const result = { ...left.result, job_id: left.result.job_id ?? job?.id ?? null }
      return (await this.#handIn({ ...left, result })) !== leftHere
    }
    const started = jobs.get(this.#message.idempotency_key)
    if (started !== undefined && job === null) await this.#writeJob(started)
    return true
  }

  async #send(id: string, report: JobReport | undefined): Promise<Handled> {
    const { closing, listener, store, warn } = this.#worker
    const { job, made, failures } = this.#state
    const isNew = job === null && made === null
    let request: TaskRequest | undefined
    let problem: ModelgateError | undefined
    try {
      // At once, which is faster than in another thread.
      writing(this.#folder, () => mkdirSync(this.#folder, { recursive: true, mode: 0o700 }))
      if (job === null) request = await placeRequest(this.#message, store, this.#folder)
    } catch (thrown) {
      problem = asModelgateError(thrown, false).amend({ billed: 'no' })
      // A disk of this machine that takes nothing ends the worker, not the task.
      if (problem.exit === 'io') throw problem
      if (mayWork(problem)) {
        warn(`${problem.message} It is tried again.`)
        return again(busyMs)
      }
    }
    const lost = isNew ? await this.#win(id) : undefined
    if (lost !== undefined) return lost
    if (problem !== undefined) return await this.#fail(problem)
    if (closing.aborted) {
      if (isNew) await this.#giveBack(failures)
      return again(0)
    }
    const call = this.#call()
    const task = this.#task(request)
    if (job === null) listener.event({ type: 'task-start', ...this.#names(), attempt: failures + 1 })
    try {
      if (job !== null || this.#lane !== 'video') {
        return await this.#handIn(await executeTask(call, task, report))
      }
      await startJob(call, task)
    } catch (thrown) {
      return await this.#fail(asModelgateError(thrown, false))
    }
    // What has been started goes before what is new.
    await this.#job.changePriority({ priority: 0 }).catch(() => {})
    return again(this.#pollWait(undefined))
  }

  /**
   * Wins the attempt: its intent is on the server's disk then. A worker that was frozen may find that the task has ended
   * meanwhile, or that its mark is gone with it, so it looks once more. @returns undefined when it is to send
   */
  async #win(id: string): Promise<Handled | undefined> {
    const { name, server } = this.#worker
    const { attempt } = this.#state
    const own = `${name} ${id}`
    const winner = await this.#worker.ask(() => server.win(attempt, own))
    if (winner === undefined || winner === withdrawn) return over
    if (winner !== own) return { kind: 'over', wonBy: winner.split(' ')[0]! }
    const now = await this.#worker.ask(() => server.find(this.#lane, this.#job.id!))
    if (now === undefined || stateOf(now).attempt !== attempt) return over
    if (now.finishedOn === undefined) return undefined
    // Whoever found the mark has reported that nobody knows; the run may know better now.
    const text = 'Not sent: its worker stood still for too long.'
    return await this.#reported(new ModelgateError('later', 'worker_lost', text, { billed: 'no' }))
  }

  /** Nothing was created: the task is another attempt from now on, which anybody may win. */
  async #giveBack(failures: number): Promise<void> {
    const { server } = this.#worker
    const { attempt } = this.#state
    await this.#write({ attempt: server.newId(), failures })
    await server.removeMark(attempt).catch(() => {})
  }

  /** @returns how the job stands, when it has ended */
  async #lookUp(job: StartedJob): Promise<JobReport | Handled> {
    const { gateway } = this.#call()
    const { policy, limits } = gateway
    const once = { ...gateway, policy: { ...policy, maxRetries: 0 }, limits: { ...limits, total: undefined } }
    try {
      const report = await lookUpJob(once, job)
      if (isFinal(report.state)) return report
      if (this.#state.failures > 0) await this.#write({ failures: 0 })
      // Nobody waits for it.
      const { state, progress: percent } = report
      void this.#job.updateProgress({ state, percent }).catch(() => {})
      return again(this.#pollWait(report.nextLookUpMs))
    } catch (thrown) {
      const error = asModelgateError(thrown, false)
      const failures = this.#state.failures + 1
      const appearsMs = appearanceWait(error, this.#state.failures)
      if (appearsMs === undefined && (!mayPass(error) || failures >= lookUpFailures.most))
        return await this.#fail(error)
      await this.#write({ failures })
      const { retryAfterS } = error.facts
      return again(appearsMs ?? this.#pollWait(retryAfterS && retryAfterS * 1000))
    }
  }

  #pollWait(askedMs: number | undefined): number {
    const { context, shared } = this.#worker
    const elapsedMs = context.clock.now() - (this.#state.job?.since ?? Infinity)
    const random = context.clock.random()
    return pollWaitAfter(elapsedMs, askedMs, random, shared.pollIntervalS)
  }

  async #fail(error: ModelgateError): Promise<Handled> {
    const { context, end } = this.#worker
    const { failures, made, job } = this.#state
    // The id of a job is on record in the folder of this process.
    if (this.#isUnwritten) return leftHere
    const isStarted = made !== null || job !== null
    const isFree = billedOf(error) === 'no' && !isStarted
    if (isFree && isRateLimit(error)) {
      const restMs = rateLimitPause(failures, error.facts.retryAfterS, context.clock)
      await this.#giveBack(failures + 1)
      this.#showError('again', error, restMs)
      return { kind: 'rest', ms: restMs }
    }
    const isKept = await keepFiles(this.#worker, this.#made, this.#message.key)
    // A disk that took nothing of what was started says nothing of it: another worker fetches it.
    const isDisk = error.exit === 'io' && isStarted && !isKept && error.facts.rescued === undefined
    if (!isDisk && !isOfWorker(error)) return await this.#reported(error)
    end(error)
    if (error.exit === 'bug' || !(isFree || isStarted)) {
      // What it says of this worker is nothing that the run could mend.
      return await this.#reported(isFree || job !== null ? error : error.amend({ exit: 'unknown' }))
    }
    if (isFree) await this.#giveBack(failures)
    this.#showError('returned', error, 0)
    return again(0)
  }

  /** For as long as that takes: it has been paid for. @returns `leftHere` when the worker has ended before */
  async #handIn(result: TaskResult): Promise<Handled> {
    const { store, inFlight: signal, end, warn, context } = this.#worker
    const { outputs, took_s } = result.result
    const isPassing = (error: ModelgateError) =>
      error.code !== 'source_changed' && (mayWork(error) || error.exit === 'io')
    const onFailure = ({ message }: ModelgateError) => warn(`${message} It is tried again.`)
    const patience = { clock: context.clock, signal, isPassing, onFailure }
    try {
      for (const { path, sha256 } of outputs) {
        await patiently(() => store.put(join(this.#made, path), sha256), patience)
      }
      await this.#write({ outcome: resultOutcome(result) })
    } catch (error) {
      end(asModelgateError(error, false).amend({ billed: 'yes' }))
      return leftHere
    }
    const bytes = outputs.reduce((sum, output) => sum + output.bytes, 0)
    this.#show({ outcome: 'done', outputs: outputs.length, bytes, took_s, again_s: null, error: null })
    return over
  }

  /** Reports how the attempt has failed, unless another worker has reported a result meanwhile. */
  async #reported(error: ModelgateError): Promise<Handled> {
    const now = await this.#worker.ask(() => this.#worker.server.find(this.#lane, this.#job.id!))
    if (now !== undefined && stateOf(now).outcome?.kind === 'result') return over
    await this.#write({ outcome: errorOutcome(error) })
    this.#showError(error.exit === 'unknown' ? 'unknown' : 'failed', error, null)
    return over
  }

  /** @param againMs when it is sent again; null where that is not known here */
  #showError(outcome: TaskEnd['outcome'], error: ModelgateError, againMs: number | null): void {
    const { code, exitCode: exit_code } = error
    const message = this.#worker.redactor.text(error.message)
    const shown = { code, exit_code, billed: billedOf(error), message }
    const again_s = againMs === null ? null : againMs / 1000
    this.#show({ outcome, outputs: 0, bytes: 0, took_s: null, again_s, error: shown })
  }

  #show(end: Pick<TaskEnd, 'outcome' | 'outputs' | 'bytes' | 'took_s' | 'again_s' | 'error'>): void {
    this.#worker.listener.event({ type: 'task-end', ...this.#names(), ...end })
  }

  #names() {
    const { instance, run, key, count } = this.#message
    return { instance, run, key, lane: this.#lane, creates: count }
  }

  /** It needs no lock: also the outcome of a worker that was taken for dead counts. For the winner of the attempt only. */
  async #write(change: Partial<TaskState>): Promise<void> {
    this.#state = { ...this.#state, ...change }
    const state = this.#worker.redactor.document(JSON.stringify(this.#state))
    this.#isUnwritten = true
    await this.#worker.ask(async () => {
      // The run may have forgotten it.
      await this.#job.updateData({ ...this.#job.data, state }).catch((error: unknown) => {
        if (!(error instanceof Error && /missing (?:key for )?job/i.test(error.message))) throw error
      })
    })
    this.#isUnwritten = false
  }

  async #writeJob({ id, kind }: StartedJob): Promise<void> {
    await this.#write({ job: { id, kind, since: this.#worker.context.clock.now() }, failures: 0 })
  }

  #call(): ExecuteCall {
    const { context, shared, redactor, jobs, isSandbox, ownFolder, inFlight: signal } = this.#worker
    return {
      ...shared,
      gateway: { ...shared.gateway, signal },
      context: { ...context, cwd: this.#folder, signal },
      project: {
        ...projectIn(this.#folder, isSandbox),
        stateFolder: projectIn(ownFolder, false).stateFolder,
      },
      redactor,
      jobs,
      timeoutMs: undefined,
    }
  }

  #task(request: TaskRequest | undefined): Task {
    const { job, made } = this.#state
    return {
      ...taskOf(this.#message, request?.body ?? {}),
      variant: 1,
      idempotencyKey: this.#message.idempotency_key,
      request: async () => request!,
      folder: this.#made,
      job,
      made,
      onMade: (addresses) => this.#write({ made: addresses }),
      onJob: (id, kind) => this.#writeJob({ id, kind }),
      onProgress() {},
    }
  }
}

function mayWork({ exit }: ModelgateError): boolean {
  return exit === 'notSent' || exit === 'later'
}

/** It was stopped, has no valid key, has reached its own limit, or had a disk that takes nothing before it sent anything. */
function isOfWorker(error: ModelgateError): boolean {
  return workerExits.has(error.exit) || (error.exit === 'io' && billedOf(error) === 'no')
}

const workerExits: ReadonlySet<ExitName> = new Set(
  'interrupt hangup terminate ok key limit bug'.split(' ') as ExitName[],
)
