import { mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { isFinal } from '../../../contract/videos.ts'
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
      return await openDelivery(worker, lane, job).handle(id)
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

/** One attempt, or one look-up, of a task. @param ownFolder of the worker that has begun it */
export function openDelivery(worker: Worker, lane: Lane, job: TaskJob, ownFolder = worker.ownFolder) {
  const { ask, closing, context, end, listener, redactor, server, store, warn } = worker
  let state = stateOf(job)
  let isUnwritten = false
  const message = decodeTask(job.data.message)
  const folder = join(workIn(ownFolder), `${lane}.${job.id!}.${state.attempt}`)
  const made = join(folder, 'made')
  const { instance, run, key, count } = message
  const names = { instance, run, key, lane, creates: count }

  const call = (): ExecuteCall => {
    const { shared, jobs, isSandbox, inFlight: signal } = worker
    return {
      ...shared,
      gateway: { ...shared.gateway, signal },
      context: { ...context, cwd: folder, signal },
      project: { ...projectIn(folder, isSandbox), stateFolder: projectIn(ownFolder, false).stateFolder },
      redactor,
      jobs,
      timeoutMs: undefined,
    }
  }

  const taskFor = (request: TaskRequest | undefined): Task => ({
    ...taskOf(message, request?.body ?? {}),
    variant: 1,
    idempotencyKey: message.idempotency_key,
    request: async () => request!,
    folder: made,
    job: state.job,
    made: state.made,
    onMade: (addresses) => write({ made: addresses }),
    onJob: (id, kind) => writeJob({ id, kind }),
    onProgress() {},
  })

  const find = () => ask(() => server.find(lane, job.id!))

  /** It needs no lock: also the outcome of a worker that was taken for dead counts. For the winner of the attempt only. */
  const write = async (change: Partial<TaskState>): Promise<void> => {
    state = { ...state, ...change }
    const text = redactor.document(JSON.stringify(state))
    isUnwritten = true
    await ask(async () => {
      // The run may have forgotten it.
      await job.updateData({ ...job.data, state: text }).catch((error: unknown) => {
        if (!(error instanceof Error && /missing (?:key for )?job/i.test(error.message))) throw error
      })
    })
    isUnwritten = false
  }

  const writeJob = ({ id, kind }: StartedJob) =>
    write({ job: { id, kind, since: context.clock.now() }, failures: 0 })

  const pollWait = (askedMs: number | undefined): number => {
    const elapsedMs = context.clock.now() - (state.job?.since ?? Infinity)
    return pollWaitAfter(elapsedMs, askedMs, context.clock.random(), worker.shared.pollIntervalS)
  }

  const show = (outcome: TaskEnd['outcome'], facts: Partial<Omit<TaskEnd, 'type' | 'outcome'>>): void => {
    const none = { outputs: 0, bytes: 0, took_s: null, again_s: null, error: null }
    listener.event({ type: 'task-end', ...names, outcome, ...none, ...facts })
  }

  /** @param againMs when it is sent again; null where that is not known here */
  const showError = (outcome: TaskEnd['outcome'], error: ModelgateError, againMs: number | null): void => {
    const { code, exitCode: exit_code } = error
    const shown = { code, exit_code, billed: billedOf(error), message: redactor.text(error.message) }
    show(outcome, { again_s: againMs === null ? null : againMs / 1000, error: shown })
  }

  /**
   * Wins the attempt: its intent is on the server's disk then. A worker that was frozen may find that the task has ended
   * meanwhile, or that its mark is gone with it, so it looks once more. @returns undefined when it is to send
   */
  const win = async (id: string): Promise<Handled | undefined> => {
    const { attempt } = state
    const own = `${worker.name} ${id}`
    const winner = await ask(() => server.win(attempt, own))
    if (winner === undefined || winner === withdrawn) return over
    if (winner !== own) return { kind: 'over', wonBy: winner.split(' ')[0]! }
    const now = await find()
    if (now === undefined || stateOf(now).attempt !== attempt) return over
    if (now.finishedOn === undefined) return undefined
    // Whoever found the mark has reported that nobody knows; the run may know better now.
    const text = 'Not sent: its worker was suspended for too long.'
    return await report(new ModelgateError('later', 'worker_lost', text, { billed: 'no' }))
  }

  /** Nothing was created: the task is another attempt from now on, which anybody may win. */
  const giveBack = async (failures: number): Promise<void> => {
    const { attempt } = state
    await write({ attempt: server.newId(), failures })
    await server.removeMark(attempt).catch(() => {})
  }

  /** Reports how the attempt has failed, unless another worker has reported a result meanwhile. */
  const report = async (error: ModelgateError): Promise<Handled> => {
    const now = await find()
    if (now !== undefined && stateOf(now).outcome?.kind === 'result') return over
    await write({ outcome: errorOutcome(error) })
    showError(error.exit === 'unknown' ? 'unknown' : 'failed', error, null)
    return over
  }

  const fail = async (error: ModelgateError): Promise<Handled> => {
    const { failures } = state
    // The id of a job is on record in the folder of this process.
    if (isUnwritten) return leftHere
    const isStarted = state.made !== null || state.job !== null
    const isFree = billedOf(error) === 'no' && !isStarted
    if (isFree && isRateLimit(error)) {
      const restMs = rateLimitPause(failures, error.facts.retryAfterS, context.clock)
      await giveBack(failures + 1)
      showError('again', error, restMs)
      return { kind: 'rest', ms: restMs }
    }
    const isKept = await keepFiles(worker, made, key)
    // A disk that took nothing of what was started says nothing of it: another worker fetches it.
    const isDisk = error.exit === 'io' && isStarted && !isKept && error.facts.rescued === undefined
    if (!isDisk && !isOfWorker(error)) return await report(error)
    end(error)
    if (error.exit === 'bug' || !(isFree || isStarted)) {
      // What it says of this worker is nothing that the run could mend.
      return await report(isFree || state.job !== null ? error : error.amend({ exit: 'unknown' }))
    }
    if (isFree) await giveBack(failures)
    showError('returned', error, 0)
    return again(0)
  }

  /** For as long as that takes: it has been paid for. @returns `leftHere` when the worker has ended before */
  const handIn = async (result: TaskResult): Promise<Handled> => {
    const { outputs, took_s } = result.result
    const isPassing = (error: ModelgateError) =>
      error.code !== 'source_changed' && (mayWork(error) || error.exit === 'io')
    const onFailure = (error: ModelgateError) => warn(`${error.message} It is tried again.`)
    const patience = { clock: context.clock, signal: worker.inFlight, isPassing, onFailure }
    try {
      for (const { path, sha256 } of outputs) {
        await patiently(() => store.put(join(made, path), sha256), patience)
      }
      await write({ outcome: resultOutcome(result) })
    } catch (error) {
      end(asModelgateError(error, false).amend({ billed: 'yes' }))
      return leftHere
    }
    const bytes = outputs.reduce((sum, output) => sum + output.bytes, 0)
    show('done', { outputs: outputs.length, bytes, took_s })
    return over
  }

  /** @returns how the job stands, when it has ended */
  const lookUp = async (started: StartedJob): Promise<JobReport | Handled> => {
    const { gateway } = call()
    const { policy, limits } = gateway
    const once = { ...gateway, policy: { ...policy, maxRetries: 0 }, limits: { ...limits, total: undefined } }
    try {
      const found = await lookUpJob(once, started)
      if (isFinal(found.state)) return found
      if (state.failures > 0) await write({ failures: 0 })
      // Nobody waits for it.
      void job.updateProgress({ state: found.state, percent: found.progress }).catch(() => {})
      return again(pollWait(found.nextLookUpMs))
    } catch (thrown) {
      const error = asModelgateError(thrown, false)
      const failures = state.failures + 1
      const appearsMs = appearanceWait(error, state.failures)
      if (appearsMs === undefined && (!mayPass(error) || failures >= lookUpFailures.most))
        return await fail(error)
      await write({ failures })
      const { retryAfterS } = error.facts
      return again(appearsMs ?? pollWait(retryAfterS && retryAfterS * 1000))
    }
  }

  const send = async (id: string, found: JobReport | undefined): Promise<Handled> => {
    const { failures, job: started } = state
    const isNew = started === null && state.made === null
    let request: TaskRequest | undefined
    let problem: ModelgateError | undefined
    try {
      // At once, which is faster than in another thread.
      writing(folder, () => mkdirSync(folder, { recursive: true, mode: 0o700 }))
      if (started === null) request = await placeRequest(message, store, folder)
    } catch (thrown) {
      problem = asModelgateError(thrown, false).amend({ billed: 'no' })
      // A disk of this machine that takes nothing ends the worker, not the task.
      if (problem.exit === 'io') throw problem
      if (mayWork(problem)) {
        warn(`${problem.message} It is tried again.`)
        return again(busyMs)
      }
    }
    const lost = isNew ? await win(id) : undefined
    if (lost !== undefined) return lost
    if (problem !== undefined) return await fail(problem)
    if (closing.aborted) {
      if (isNew) await giveBack(failures)
      return again(0)
    }
    const task = taskFor(request)
    if (started === null) listener.event({ type: 'task-start', ...names, attempt: failures + 1 })
    try {
      if (started !== null || lane !== 'video') return await handIn(await executeTask(call(), task, found))
      await startJob(call(), task)
    } catch (thrown) {
      return await fail(asModelgateError(thrown, false))
    }
    // What has been started goes before what is new.
    await job.changePriority({ priority: 0 }).catch(() => {})
    return again(pollWait(undefined))
  }

  return {
    async handle(id: string): Promise<Handled> {
      // Its worker has reported, and died before it could end the delivery.
      if (state.outcome !== null) return over
      const found = state.job === null ? undefined : await lookUp(state.job)
      if (found !== undefined && !('state' in found)) return found
      let handled: Handled = over
      try {
        handled = await send(id, found)
        return handled
      } finally {
        if (handled !== leftHere) removeFolder(folder)
      }
    },

    /**
     * Reports what a dead worker has left of an attempt. @param name of its folder @param jobs by idempotency keys
     * @returns false when this worker has ended before
     */
    async recover(name: string, jobs: ReadonlyMap<string, StartedJob>): Promise<boolean> {
      if (name !== basename(folder) || state.outcome !== null) return true
      const left = await recoverResult(context, { ...taskOf(message, {}), folder: made })
      if (left !== undefined) {
        const result = { ...left.result, job_id: left.result.job_id ?? state.job?.id ?? null }
        return (await handIn({ ...left, result })) !== leftHere
      }
      const started = jobs.get(message.idempotency_key)
      if (started !== undefined && state.job === null) await writeJob(started)
      return true
    },
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
