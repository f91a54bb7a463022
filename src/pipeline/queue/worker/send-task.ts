import { DelayedError, RateLimitError } from 'bullmq'
import { asModelgateError, billedOf, ModelgateError } from '../../../errors.ts'
import { waitBefore } from '../../../gateway/retry.ts'
import { executeTask, startJob } from '../../execute/execute-task.ts'
import { forgetJob } from '../../execute/started-jobs.ts'
import type { Task, TaskRequest } from '../../execute/task.ts'
import type { Lane } from '../../manifest/manifest.ts'
import { isRateLimit } from '../../schedule/attempt-error.ts'
import { decodeTask, placeRequest, taskOf, type TaskMessage } from '../message.ts'
import { patiently } from '../patiently.ts'
import { stateOf, withdrawn, type TaskJob, type TaskState } from '../queue-server.ts'
import { executeCall, inFolder, isOfWorker, later } from './delivery.ts'
import { handIn, showError, tellError, told, writeState } from './hand-in.ts'
import { createLookUps, type LookUps } from './look-up.ts'
import { keepWhatCame, type TaskFolder } from './unfinished.ts'
import type { Delivery, Worker } from './worker-context.ts'

/** Another delivery of the same task is in progress here: this one looks again after so many milliseconds. */
const busyMs = 5_000
/** A message of another version is for another worker. */
const refusedMs = 60_000
const firstPollS = 2
/** When the gateway asks for less, in milliseconds: a gateway that says "0 s" each time must not be asked in a loop. */
const minRestMs = 100

/**
 * Makes what takes the deliveries of a lane: each is one attempt to send a task, or one look-up of its remote job.
 * @returns resolves when the task is over, with who has won the attempt in its place, if nobody knows what became of it;
 * rejects with what BullMQ takes for "later"
 */
export function createDeliveryHandler(
  worker: Worker,
  lane: Lane,
): (job: TaskJob, token: string) => Promise<string | undefined> {
  const { stop } = worker
  const atWork = new Set<string>()
  const lookUps = createLookUps(worker)
  return async (job, token) => {
    if (stop.closing.aborted) return await later(worker, job, token, 0)
    if (atWork.has(job.id!)) return await later(worker, job, token, busyMs)
    atWork.add(job.id!)
    try {
      return await handle(worker, lookUps, lane, job, token)
    } catch (thrown) {
      if (thrown instanceof DelayedError || thrown instanceof RateLimitError) throw thrown
      if (stop.closing.aborted) return await later(worker, job, token, 0)
      const error = asModelgateError(thrown, false)
      if (error.code === 'queue_version') {
        worker.warn(error.message)
        return await later(worker, job, token, refusedMs)
      }
      stop.end(error)
      return await later(worker, job, token, 0)
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
  token: string,
): Promise<string | undefined> {
  const state = stateOf(job)
  // Its worker has told, and died before it could end the delivery.
  if (state.outcome !== null) return undefined
  let message: TaskMessage
  try {
    message = decodeTask(job.data.message)
  } catch (thrown) {
    const error = asModelgateError(thrown, false)
    if (error.code === 'queue_version') throw error
    await writeState(worker, job, { ...state, outcome: { kind: 'error', error: { ...toldError(error) } } })
    return undefined
  }
  const delivery: Delivery = { lane, job, token, message, state }
  const { job: started } = state
  if (started !== null) {
    await lookUps.lookUp(delivery, started)
    return undefined
  }
  return await inFolder(worker, delivery, (folder) => send(worker, delivery, folder))
}

const toldError = ({ exit, code, message, facts: { billed } }: ModelgateError) => ({
  exit,
  code,
  message,
  facts: { billed },
})

/** Sends a task, or starts its remote job. @returns whether its files stay here, or who has won the attempt instead */
async function send(worker: Worker, delivery: Delivery, folder: TaskFolder): Promise<boolean | string> {
  const { lane, job, token, message, state } = delivery
  const { stop, listener } = worker
  const placed = await place(worker, message, folder)
  if (state.made === null) {
    const winner = await winAttempt(worker, delivery)
    if (winner !== undefined) return winner
  }
  if (placed instanceof ModelgateError) {
    await tellError(worker, job, message, placed)
    return false
  }
  if (stop.closing.aborted) {
    await giveBack(worker, delivery, state.refusals)
    return await later(worker, job, token, 0)
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
    if (lane !== 'video') return !(await handIn(worker, job, message, await executeTask(call, task)))
    const started = await startJob(call, task)
    await forgetJob(call, started)
  } catch (thrown) {
    return await fail(worker, delivery, folder, asModelgateError(thrown, false), now)
  }
  // What has been started goes before what is new.
  await job.changePriority({ priority: 0 }).catch(() => {})
  return await later(worker, job, token, (worker.shared.pollIntervalS ?? firstPollS) * 1000)
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
 * @returns undefined when it is to be sent; who has won it otherwise, or an empty text where there is nothing more to tell
 */
async function winAttempt(
  worker: Worker,
  { lane, job, token, message, state: { attempt } }: Delivery,
): Promise<string | undefined> {
  const { name, server, stop, ask } = worker
  const own = `${name} ${token}`
  const winner = await ask(stop.lastWords, () => server.win(attempt, own))
  if (winner === undefined || winner === withdrawn) return ''
  if (winner !== own) return winner.split(' ')[0]!
  const now = await ask(stop.lastWords, () => server.find(lane, job.id!))
  if (now === undefined || stateOf(now).attempt !== attempt) return ''
  if (now.finishedOn === undefined) return undefined
  // Whoever found the mark has told that nobody knows; the run may know better now.
  const text = 'Not sent: its worker stood still for too long.'
  await tellError(worker, job, message, new ModelgateError('later', 'worker_frozen', text, { billed: 'no' }))
  return ''
}

/** Nothing was created: the task is another attempt from now on, which anybody may win. */
async function giveBack(worker: Worker, { job, state }: Delivery, refusals: number): Promise<void> {
  await writeState(worker, job, { ...state, attempt: worker.server.newId(), refusals })
  await worker.server.removeMark(state.attempt).catch(() => {})
}

/** @returns whether the files stay here, for the next process */
async function fail(
  worker: Worker,
  delivery: Delivery,
  folder: TaskFolder,
  thrown: ModelgateError,
  now: TaskState,
): Promise<boolean> {
  const { lane, job, token, message, state } = delivery
  const { context, server, stop } = worker
  // The id, or the addresses, could not be written down: they are on record in the folder of this process.
  if (stop.lastWords.aborted) return true
  const isFree = billedOf(thrown) === 'no' && now.made === null && now.job === null
  if (isFree && isRateLimit(thrown)) {
    const waitS = waitBefore(state.refusals, thrown.facts.retryAfterS, context.clock.random())
    const restMs = Math.max(minRestMs, waitS * 1000)
    await giveBack(worker, delivery, state.refusals + 1)
    showError(worker, message, thrown, 'again', restMs)
    await worker.ask(stop.lastWords, () => server.lane(lane).rateLimit(restMs))
    throw new RateLimitError()
  }
  await keepWhatCame(worker, folder, `${message.key}.${state.attempt}`)
  const isOwn = isOfWorker(thrown)
  if (isOwn) stop.end(thrown)
  if (isOwn && thrown.exit !== 'bug' && (isFree || now.made !== null)) {
    if (isFree) await giveBack(worker, delivery, state.refusals)
    showError(worker, message, thrown, 'returned', 0)
    return await later(worker, job, token, 0)
  }
  // What it says of this worker is nothing that the run could mend.
  const error = isOwn && !isFree ? thrown.amend({ exit: 'unknown' }) : thrown
  await tellError(worker, job, message, error)
  return false
}
