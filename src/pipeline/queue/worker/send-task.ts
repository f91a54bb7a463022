import { asModelgateError, billedOf, ModelgateError } from '../../../errors.ts'
import { waitBefore } from '../../../gateway/retry.ts'
import { executeTask, startJob } from '../../execute/execute-task.ts'
import { forgetJob } from '../../execute/started-jobs.ts'
import type { Task, TaskRequest } from '../../execute/task.ts'
import type { Lane } from '../../manifest/manifest.ts'
import { isRateLimit } from '../../schedule/circuit.ts'
import { decodeTask, placeRequest, taskOf, type TaskMessage } from '../message.ts'
import { errorOutcome } from '../outcome.ts'
import { patiently } from '../patiently.ts'
import { stateOf, withdrawn, type Handled, type TaskJob, type TaskState } from '../queue-server.ts'
import { handIn, showError, tellError, told, writeState } from './hand-in.ts'
import { createLookUps, type LookUps } from './look-up.ts'
import { executeCall, inFolder, isOfWorker, keepWhatCame, type TaskFolder } from './unfinished.ts'
import { again, leftHere, over, type Delivery, type Worker } from './worker-context.ts'

/** Another delivery of the same task is in progress here: this one looks again after so many milliseconds. */
const busyMs = 5_000
/** A message of another version is for another worker. */
const refusedMs = 60_000
const firstPollS = 2
/** When the gateway asks for less, in milliseconds: a gateway that says "0 s" each time must not be asked in a loop. */
const minRestMs = 100

/**
 * Makes what takes the deliveries of a lane: each is one attempt to send a task, or one look-up of its remote job. It never
 * throws: what fails here is tried again later, here or elsewhere.
 */
export function createDeliveryHandler(
  worker: Worker,
  lane: Lane,
): (job: TaskJob, delivery: string) => Promise<Handled> {
  const { stop } = worker
  const atWork = new Set<string>()
  const lookUps = createLookUps(worker)
  return async (job, id) => {
    if (stop.closing.aborted) return again(0)
    if (atWork.has(job.id!)) return again(busyMs)
    atWork.add(job.id!)
    try {
      return await handle(worker, lookUps, lane, job, id)
    } catch (thrown) {
      if (stop.closing.aborted) return again(0)
      const error = asModelgateError(thrown, false)
      // The run tells what it cannot read.
      if (error.code === 'queue_damaged') return over
      if (error.code === 'queue_version') {
        worker.warn(error.message)
        return again(refusedMs)
      }
      stop.end(error)
      return again(0)
    } finally {
      atWork.delete(job.id!)
    }
  }
}

async function handle(
  worker: Worker,
  lookUps: LookUps,
  lane: Lane,
  job: TaskJob,
  id: string,
): Promise<Handled> {
  const state = stateOf(job)
  // Its worker has told, and died before it could end the delivery.
  if (state.outcome !== null) return over
  let message: TaskMessage
  try {
    message = decodeTask(job.data.message)
  } catch (thrown) {
    const error = asModelgateError(thrown, false)
    if (error.code === 'queue_version') throw error
    await writeState(worker, job, { ...state, outcome: errorOutcome(error) })
    return over
  }
  const delivery: Delivery = { id, lane, job, message, state }
  const { job: started } = state
  if (started !== null) return await lookUps.lookUp(delivery, started)
  return await inFolder(worker, delivery, (folder) => send(worker, delivery, folder))
}

/** Sends a task, or starts its remote job. */
async function send(worker: Worker, delivery: Delivery, folder: TaskFolder): Promise<Handled> {
  const { lane, job, message, state } = delivery
  const { stop, listener } = worker
  const placed = await place(worker, message, folder)
  if (state.made === null) {
    const lost = await winAttempt(worker, delivery)
    if (lost !== undefined) return lost
  }
  if (placed instanceof ModelgateError) {
    await tellError(worker, job, message, placed)
    return over
  }
  if (stop.closing.aborted) {
    if (state.made === null) await giveBack(worker, delivery, state.refusals)
    return again(0)
  }
  listener.event({ type: 'task-start', ...told(message), attempt: state.refusals + 1 })
  const call = executeCall(worker, folder.path)
  let now = state
  const change = async (more: Partial<TaskState>) => {
    now = { ...now, ...more }
    await writeState(worker, job, now)
  }
  const task: Task = {
    ...taskOf(message, placed.body),
    variant: 1,
    idempotencyKey: message.idempotency_key,
    request: async () => placed,
    folder: folder.made,
    job: null,
    made: state.made,
    onMade: (made) => change({ made }),
    onJob: (id, kind) => change({ job: { id, kind, since: worker.context.clock.now() } }),
    onProgress() {},
  }
  try {
    if (lane !== 'video') return await handIn(worker, job, message, await executeTask(call, task))
    const started = await startJob(call, task)
    await forgetJob(call, started)
  } catch (thrown) {
    return await fail(worker, delivery, folder, asModelgateError(thrown, false), now)
  }
  // What has been started goes before what is new.
  await job.changePriority({ priority: 0 }).catch(() => {})
  return again((worker.shared.pollIntervalS ?? firstPollS) * 1000)
}

/** Brings what the request is made of here. A disk of this machine that takes nothing ends the worker, not the task. */
async function place(
  worker: Worker,
  message: TaskMessage,
  folder: TaskFolder,
): Promise<TaskRequest | ModelgateError> {
  const { store, stop } = worker
  try {
    return await patiently(worker, stop.closing, () => placeRequest(message, store, folder.path))
  } catch (thrown) {
    const error = asModelgateError(thrown, false)
    // It would end every worker that takes the task.
    if (error.exit === 'bug' || error.exit === 'usage') return error.amend({ billed: 'no' })
    if (error.code !== 'store_input_missing') throw error
    return error.amend({ exit: 'usage' })
  }
}

/**
 * Wins the attempt to send the task. The intent is on the server's disk then. A worker that was frozen before may find that
 * the task has ended meanwhile, or that its mark is gone with the task: so it is looked at once more.
 * @returns undefined when it is to be sent
 */
async function winAttempt(
  worker: Worker,
  { id, lane, job, message, state: { attempt } }: Delivery,
): Promise<Handled | undefined> {
  const { name, server, stop, ask } = worker
  const own = `${name} ${id}`
  const winner = await ask(stop.lastWords, () => server.win(attempt, own))
  if (winner === undefined || winner === withdrawn) return over
  if (winner !== own) return { kind: 'over', wonBy: winner.split(' ')[0]! }
  const now = await ask(stop.lastWords, () => server.find(lane, job.id!))
  if (now === undefined || stateOf(now).attempt !== attempt) return over
  if (now.finishedOn === undefined) return undefined
  // Whoever found the mark has told that nobody knows; the run may know better now.
  const text = 'Not sent: its worker stood still for too long.'
  await tellError(worker, job, message, new ModelgateError('later', 'worker_frozen', text, { billed: 'no' }))
  return over
}

/** Nothing was created: the task is another attempt from now on, which anybody may win. */
async function giveBack(worker: Worker, { job, state }: Delivery, refusals: number): Promise<void> {
  await writeState(worker, job, { ...state, attempt: worker.server.newId(), refusals })
  await worker.server.removeMark(state.attempt).catch(() => {})
}

/** What an error makes of the task. */
async function fail(
  worker: Worker,
  delivery: Delivery,
  folder: TaskFolder,
  thrown: ModelgateError,
  now: TaskState,
): Promise<Handled> {
  const { job, message, state } = delivery
  const { context, stop } = worker
  // The id, or the addresses, could not be written down: they are on record in the folder of this process.
  if (stop.lastWords.aborted) return leftHere
  const isFree = billedOf(thrown) === 'no' && now.made === null && now.job === null
  if (isFree && isRateLimit(thrown)) {
    const waitS = waitBefore(state.refusals, thrown.facts.retryAfterS, context.clock.random())
    const restMs = Math.max(minRestMs, waitS * 1000)
    await giveBack(worker, delivery, state.refusals + 1)
    showError(worker, message, thrown, 'again', restMs)
    return { kind: 'rest', ms: restMs }
  }
  await keepWhatCame(worker, folder, `${message.key}.${state.attempt}`)
  const isOwn = isOfWorker(thrown)
  if (isOwn) stop.end(thrown)
  if (isOwn && thrown.exit !== 'bug' && (isFree || now.made !== null)) {
    if (isFree) await giveBack(worker, delivery, state.refusals)
    showError(worker, message, thrown, 'returned', 0)
    return again(0)
  }
  // What it says of this worker is nothing that the run could mend.
  const error = isOwn && !isFree ? thrown.amend({ exit: 'unknown' }) : thrown
  await tellError(worker, job, message, error)
  return over
}
